package aks_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

const (
	clusterPath  = clusterID
	profilesPath = clusterID + "/meshUpgradeProfiles"
)

// settled is a cluster with one revision and nothing going on.
func settled(modifiers ...func(*fakearm.Cluster)) fakearm.Cluster {
	c := fakearm.Cluster{ID: clusterID, FQDN: "svc.hcp.westus3.azmk8s.io", Mesh: &fakearm.Mesh{Revisions: []string{"asm-1-29"}}}
	for _, modify := range modifiers {
		modify(&c)
	}
	return c
}

// startARM runs a faked ARM with the cluster. Whatever a test does, nothing but
// GET requests that ARM knows may have arrived in the end, with the fake token.
func startARM(t *testing.T, cluster fakearm.Cluster) *fakearm.Server {
	t.Helper()
	g := NewWithT(t)
	arm, err := fakearm.Start()
	g.Expect(err).NotTo(HaveOccurred(), "start the faked ARM")
	t.Cleanup(func() {
		g.Expect(arm.Close()).To(Succeed(), "close the faked ARM")
		g.Expect(arm.Unexpected()).To(BeEmpty(), "every request is one that ARM knows")
		g.Expect(arm.Journal()).To(HaveEach(And(HaveField("Method", "GET"), HaveField("Authorization", "Bearer "+aks.FakeToken))))
	})
	g.Expect(arm.AddCluster(cluster)).To(Succeed(), "add the cluster")
	return arm
}

func inject(t *testing.T, arm *fakearm.Server, fault fakearm.Fault) {
	t.Helper()
	remove, err := arm.Inject(fault)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "inject a fault")
	t.Cleanup(remove)
}

// paths are those that were asked for, in order.
func paths(arm *fakearm.Server) []string {
	var all []string
	for _, r := range arm.Journal() {
		all = append(all, r.Path)
	}
	return all
}

// readerOf returns a reader of the cluster from a faked ARM at url.
func readerOf(t *testing.T, url string) *aks.Reader {
	t.Helper()
	g := NewWithT(t)
	id, err := aks.ParseClusterID(clusterID)
	g.Expect(err).NotTo(HaveOccurred(), "parse the cluster's ID")
	endpoint, err := aks.ParseEndpoint(url)
	g.Expect(err).NotTo(HaveOccurred(), "parse the endpoint")
	r, err := aks.NewReader(id, cloud.AzurePublic, endpoint)
	g.Expect(err).NotTo(HaveOccurred(), "make a reader")
	return r
}

// startAnswering runs an ARM that answers the body of a path with 200, for
// shapes that no cluster of the faked ARM has. Another path is answered 404.
func startAnswering(t *testing.T, bodies map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, found := bodies[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !found {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server
}
