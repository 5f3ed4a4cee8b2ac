package rehearsal

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/fixtures/faultproxy"
	"github.com/mesh-postflight/mesh-postflight/fixtures/scenarios"
)

const clusterID = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rehearsal/providers/Microsoft.ContainerService/managedClusters/rehearsal"

// stage is the cluster of this process with one scenario in it, and a faked ARM
// of its own.
type stage struct {
	arm    *fakearm.Server
	target string
	// proxy, when there is one, is between the suite and the API server.
	proxy *faultproxy.Proxy
	// otherName makes the suite know the proxy by its other name.
	otherName bool
}

// setUp seeds a scenario, and more objects. After the spec everything is gone
// again, and a request that the faked ARM does not know has failed it.
func setUp(ctx context.Context, scenario string, more ...scenarios.Object) *stage {
	GinkgoHelper()
	s, err := scenarios.Find(scenario)
	Expect(err).NotTo(HaveOccurred(), "find the scenario")
	arm, err := fakearm.Start()
	Expect(err).NotTo(HaveOccurred(), "start the faked ARM")
	DeferCleanup(func() {
		Expect(arm.Unexpected()).To(BeEmpty(), "every request to ARM is one that ARM knows")
		Expect(arm.Close()).To(Succeed(), "close the faked ARM")
	})
	seeded, err := s.With(more...).Seed(ctx, cluster.RESTConfig, arm, clusterID)
	Expect(err).NotTo(HaveOccurred(), "seed the scenario")
	DeferCleanup(func(ctx SpecContext) {
		Expect(seeded.Remove(ctx)).To(Succeed(), "remove the scenario")
		Expect(leases(ctx)).To(BeEmpty(), "the scenario leaves no lease behind")
	}, NodeTimeout(timeouts.Cluster))
	return &stage{arm: arm, target: s.Target}
}

// throughProxy puts a proxy between the suite and the API server.
func (s *stage) throughProxy() *faultproxy.Proxy {
	GinkgoHelper()
	proxy, err := faultproxy.Start(cluster.RESTConfig)
	Expect(err).NotTo(HaveOccurred(), "start the proxy")
	DeferCleanup(proxy.Close)
	s.proxy = proxy
	return proxy
}

// config is who's way to the API server.
func (s *stage) config(ctx context.Context, who identity) *rest.Config {
	GinkgoHelper()
	cfg := who.config(ctx)
	if s.proxy != nil {
		cfg = s.proxy.Config(cfg)
	}
	if s.otherName {
		cfg.ServerName = faultproxy.OtherName
	}
	return cfg
}

// inject adds a fault of the faked ARM for the rest of the spec.
func (s *stage) inject(f fakearm.Fault) {
	GinkgoHelper()
	remove, err := s.arm.Inject(f)
	Expect(err).NotTo(HaveOccurred(), "inject a fault")
	DeferCleanup(remove)
}

// leases returns the UID of every lease in the mesh's namespace, by name.
func leases(ctx context.Context) map[string]string {
	GinkgoHelper()
	list, err := client().CoordinationV1().Leases(meshNamespace).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred(), "list the leases")
	found := map[string]string{}
	for _, l := range list.Items {
		found[l.Name] = string(l.UID)
	}
	return found
}

// without returns the leases but the named ones, each of which must be there.
func without(before map[string]string, names ...string) map[string]string {
	GinkgoHelper()
	after := map[string]string{}
	for name, uid := range before {
		after[name] = uid
	}
	for _, name := range names {
		Expect(after).To(HaveKey(name), "a lease that is to be deleted is there before")
		delete(after, name)
	}
	return after
}

// leaseNames are those of an election's leases of revisions.
func leaseNames(election string, revisions ...string) []string {
	var names []string
	for _, r := range revisions {
		names = append(names, fmt.Sprintf("%s-%s", election, r))
	}
	return names
}
