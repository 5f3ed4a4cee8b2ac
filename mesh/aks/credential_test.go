package aks_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

func TestAFakedARMNeverGetsARealCredential(t *testing.T) {
	const secret = "a-real-secret"
	for _, name := range []string{
		"AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_CLIENT_CERTIFICATE_PASSWORD", "AZURE_FEDERATED_TOKEN_FILE",
		"AZURE_USERNAME", "AZURE_PASSWORD", "IDENTITY_HEADER", "SYSTEM_ACCESSTOKEN",
	} {
		t.Setenv(name, secret)
	}
	t.Setenv("AZURE_TENANT_ID", "00000000-0000-0000-0000-000000000002")
	t.Setenv("AZURE_CLIENT_ID", "00000000-0000-0000-0000-000000000003")
	for name, configuration := range map[string]cloud.Configuration{
		"public": cloud.AzurePublic, "government": cloud.AzureGovernment, "China": cloud.AzureChina, "none": {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			arm := startARM(t, settled())
			endpoint, err := aks.ParseEndpoint(arm.URL() + "/")
			g.Expect(err).NotTo(HaveOccurred())
			id, err := aks.ParseClusterID(clusterID)
			g.Expect(err).NotTo(HaveOccurred())
			r, err := aks.NewReader(id, configuration, endpoint)
			g.Expect(err).NotTo(HaveOccurred())

			got, err := r.Installation(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(facts()))
			g.Expect(arm.Journal()).To(HaveLen(2))
			for _, request := range arm.Journal() {
				g.Expect(request.Authorization).To(Equal("Bearer postflight-fake-token"))
			}
		})
	}
}

func TestAMissingCredentialIsAnErrorInOneLine(t *testing.T) {
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential") // this one alone, so that nothing is connected to
	t.Setenv("AZURE_TENANT_ID", "")
	g := NewWithT(t)
	id, err := aks.ParseClusterID(clusterID)
	g.Expect(err).NotTo(HaveOccurred())
	r, err := aks.NewReader(id, cloud.AzurePublic, nil)
	g.Expect(err).NotTo(HaveOccurred())

	_, err = r.Installation(t.Context())

	g.Expect(err).To(MatchError(And(
		HavePrefix(reading),
		ContainSubstring("missing environment variable AZURE_TENANT_ID"),
		Not(ContainSubstring("\n")),
	)))
}

func TestNewReaderRefusesACredentialThatDoesNotExist(t *testing.T) {
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "NoSuchCredential")
	g := NewWithT(t)
	r, err := aks.NewReader(aks.ClusterID{}, cloud.AzurePublic, nil)
	g.Expect(err).To(MatchError(HavePrefix("find an Azure credential: ")))
	g.Expect(r).To(BeNil())
}

func TestReadActionsAreReads(t *testing.T) {
	g := NewWithT(t)
	g.Expect(aks.ReadActions()).To(ConsistOf(
		"Microsoft.ContainerService/managedClusters/read",
		"Microsoft.ContainerService/managedClusters/meshUpgradeProfiles/read",
	))
}
