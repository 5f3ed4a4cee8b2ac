package aks_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

const clusterID = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg1/providers/Microsoft.ContainerService/managedClusters/svc-westus3"

func TestParseClusterIDTakesItApart(t *testing.T) {
	parts := aks.ClusterID{Subscription: "00000000-0000-0000-0000-000000000001", ResourceGroup: "rg1", Name: "svc-westus3"}
	for name, id := range map[string]string{
		"as ARM writes it":            clusterID,
		"as AKS answers it":           strings.Replace(clusterID, "resourceGroups", "resourcegroups", 1),
		"with lower-case words":       strings.NewReplacer("resourceGroups", "resourcegroups", "Microsoft.ContainerService/managedClusters", "microsoft.containerservice/managedclusters").Replace(clusterID),
		"with upper-case words":       strings.NewReplacer("subscriptions", "SUBSCRIPTIONS", "resourceGroups", "RESOURCEGROUPS", "Microsoft.ContainerService/managedClusters", "MICROSOFT.CONTAINERSERVICE/MANAGEDCLUSTERS").Replace(clusterID),
		"with a slash at its end":     clusterID + "/",
		"with a line feed at its end": clusterID + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := aks.ParseClusterID(id)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(parts))
		})
	}
}

func TestParseClusterIDRefuses(t *testing.T) {
	for name, id := range map[string]string{
		"nothing":                       "",
		"a blank":                       " ",
		"a name":                        "svc-westus3",
		"no slash at its start":         strings.TrimPrefix(clusterID, "/"),
		"a subscription":                "/subscriptions/00000000-0000-0000-0000-000000000001",
		"a resource group":              strings.Split(clusterID, "/providers/")[0],
		"all clusters of a group":       strings.TrimSuffix(clusterID, "/svc-westus3"),
		"a name that is missing":        strings.TrimSuffix(clusterID, "svc-westus3"),
		"an agent pool":                 clusterID + "/agentPools/x",
		"an upgrade profile":            clusterID + "/meshUpgradeProfiles/istio",
		"a resource on a cluster":       clusterID + "/providers/Microsoft.Insights/diagnosticSettings/x",
		"another type":                  strings.Replace(clusterID, "managedClusters", "snapshots", 1),
		"another provider":              strings.Replace(clusterID, "Microsoft.ContainerService", "Microsoft.Kubernetes", 1),
		"a longer provider":             strings.Replace(clusterID, "Microsoft.ContainerService", "Microsoft.ContainerServices", 1),
		"a connected cluster":           strings.Replace(clusterID, "Microsoft.ContainerService/managedClusters", "Microsoft.Kubernetes/connectedClusters", 1),
		"a cluster of no group":         strings.Replace(clusterID, "/resourceGroups/rg1", "", 1),
		"a cluster of no subscription":  "/providers/Microsoft.ContainerService/managedClusters/svc-westus3",
		"a cluster on another resource": strings.Replace(clusterID, "/providers/", "/providers/Microsoft.Storage/storageAccounts/s/providers/", 1),
		"a cluster on another cluster":  clusterID + "/providers/Microsoft.ContainerService/managedClusters/other",
		"a URL":                         "https://management.azure.com" + clusterID,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := aks.ParseClusterID(id)
			g.Expect(err).To(MatchError(ContainSubstring("its form is /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.ContainerService/managedClusters/<name>")))
			g.Expect(got).To(BeZero())
		})
	}
}
