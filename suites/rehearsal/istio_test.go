package rehearsal

import (
	"context"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/fixtures/istio"
	"github.com/mesh-postflight/mesh-postflight/fixtures/scenarios"
)

// labelIstio marks the rehearsals with real control planes: they need Istio's
// programs, and half a minute for leases to fall silent.
const labelIstio = "istio"

// grace is the shortest that the suite takes, so that silence comes soon.
const grace = 30 * time.Second

// upgrade is one way through an upgrade, up to what is left of the revision that
// has gone.
type upgrade struct {
	// stays and goes are the revisions.
	stays, goes string
	// release lets the istiod that goes release its leases; otherwise they keep
	// the name of a pod that is gone.
	release bool
}

var _ = Describe("An upgrade with real control planes", Label(labelIstio), func() {
	BeforeEach(func(ctx SpecContext) {
		prepareIstio(ctx)
	}, NodeTimeout(timeouts.Build))

	DescribeTable("leaves two orphans, which the suite names, keeps for the grace, and deletes past it",
		func(spec SpecContext, u upgrade) {
			ctx, cancel := context.WithTimeout(spec, timeouts.Upgrade)
			defer cancel()
			s := &stage{target: u.stays, arm: startARM()}
			Expect(s.arm.AddCluster(fakearm.Cluster{ID: clusterID, FQDN: apiServerName(), Mesh: &fakearm.Mesh{Revisions: []string{"asm-1-28"}}})).To(Succeed())

			By("installing asm-1-28, and beginning the upgrade to asm-1-29")
			running := map[string]*realIstiod{"asm-1-28": startIstiod(ctx, "asm-1-28", meshNamespace)}
			Expect(s.arm.StartUpgrade(clusterID, "asm-1-29")).To(Succeed())
			running["asm-1-29"] = startIstiod(ctx, "asm-1-29", meshNamespace)
			Expect(s.arm.Advance(clusterID)).To(Succeed())

			By("verifying before the upgrade is over")
			before := leases(ctx)
			result := s.run(ctx, "--fix")
			Expect(result.exit).To(Equal(1))
			Expect(result.verdicts).To(And(HaveKeyWithValue(gatewayLease, "SKIPPED"), HaveKeyWithValue(statusLease, "SKIPPED"), HaveKeyWithValue(notUpgrading, "FAIL")))
			Expect(leases(ctx)).To(Equal(before), "leases during the upgrade")

			By("ending the upgrade, and the revision that goes")
			if u.goes == "asm-1-28" {
				Expect(s.arm.CompleteUpgrade(clusterID)).To(Succeed())
			} else {
				Expect(s.arm.RollBack(clusterID)).To(Succeed())
			}
			running[u.goes].end(ctx, u.release)
			Expect(s.arm.Advance(clusterID)).To(Succeed())
			orphans := []string{"istio-gateway-deployment-" + u.goes, "istio-gateway-status-leader-" + u.goes}
			for _, name := range orphans {
				held := *lease(ctx, name).Spec.HolderIdentity
				Expect(held == "").To(Equal(u.release), "holder of %s is %q", name, held)
			}

			By("verifying within the grace")
			result = s.run(ctx, "--fix")
			Expect(result.exit).To(Equal(1))
			Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FAIL"}))
			Expect(result.output).To(ContainSubstring(orphans[0] + ": kept (alive: renewed "))
			Expect(leases(ctx)).To(Equal(before), "leases within the grace")

			By("waiting until they have been silent for the grace")
			Eventually(ctx, func() time.Duration {
				return min(time.Since(lease(ctx, orphans[0]).Spec.RenewTime.Time), time.Since(lease(ctx, orphans[1]).Spec.RenewTime.Time))
			}).WithTimeout(timeouts.Rehearsal).WithPolling(time.Second).Should(BeNumerically(">", grace+2*time.Second))

			By("verifying past the grace")
			result = s.run(ctx, "--lease-grace", grace.String())
			Expect(result.exit).To(Equal(1))
			Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FAIL"}))
			for _, name := range orphans {
				Expect(result.output).To(MatchRegexp(`(?m)^ +%s .*: orphaned$`, name))
			}
			Expect(result.output).NotTo(MatchRegexp(`(?m)^ +istio-\S+-%s .*: (orphaned|alive|unclear)`, u.stays))

			By("fixing past the grace")
			live := map[string]*coordinationv1.Lease{}
			for _, election := range []string{"istio-gateway-deployment-", "istio-gateway-status-leader-"} {
				live[election+u.stays] = lease(ctx, election+u.stays)
			}
			result = s.run(ctx, "--fix", "--lease-grace", grace.String())
			Expect(result.exit).To(BeZero())
			Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FIXED", statusLease: "FIXED"}))
			Expect(leases(ctx)).To(Equal(without(before, orphans...)), "leases afterwards")
			for name, was := range live {
				is := lease(ctx, name)
				Expect(is.UID).To(Equal(was.UID), "%s is the same object", name)
				Expect(is.Spec.LeaseTransitions).To(Equal(was.Spec.LeaseTransitions), "%s has the same leader", name)
				Expect(is.Spec.HolderIdentity).To(Equal(was.Spec.HolderIdentity), "%s has the same holder", name)
				Expect(is.Spec.RenewTime.Time).To(BeTemporally(">", was.Spec.RenewTime.Time), "%s is still renewed", name)
			}
			Expect(s.run(ctx).exit).To(BeZero(), "a last look")
		},
		Entry("after SIGTERM, when istiod releases them", upgrade{stays: "asm-1-29", goes: "asm-1-28", release: true}),
		Entry("after SIGKILL, when they keep a vanished pod's name", upgrade{stays: "asm-1-29", goes: "asm-1-28"}),
		Entry("after a rollback, when the newer revision goes", upgrade{stays: "asm-1-28", goes: "asm-1-29"}),
	)

	It("of upstream Istio is not supported yet, and the suite says so", SpecTimeout(timeouts.Upgrade), func(ctx SpecContext) {
		const namespace = "istio-system"
		startIstiod(ctx, "1-27-3", namespace)
		s := &stage{target: "1-27-3", arm: startARM()}
		before, err := client().CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(Equal(1))
		Expect(result.output).To(ContainSubstring(`"1-27-3" has not the form asm-<major>-<minor> of AKS's managed Istio add-on; upstream Istio is not supported yet`))
		Expect(s.arm.Journal()).To(BeEmpty(), "nothing was read")
		for _, was := range before.Items {
			is, err := client().CoordinationV1().Leases(namespace).Get(ctx, was.Name, metav1.GetOptions{})
			Expect(err).NotTo(HaveOccurred())
			Expect(is.UID).To(Equal(was.UID))
		}
	})
})

// programs are Istio's, once they are built.
var programs istio.Programs

// prepareIstio builds Istio's programs and installs its kinds, once.
func prepareIstio(ctx context.Context) {
	GinkgoHelper()
	var err error
	programs, err = istio.Build(ctx, os.Stderr)
	Expect(err).NotTo(HaveOccurred(), "build Istio's programs")
	Expect(istio.InstallCRDs(ctx, cluster.RESTConfig)).To(Succeed(), "install Istio's kinds")
}

func startARM() *fakearm.Server {
	GinkgoHelper()
	arm, err := fakearm.Start()
	Expect(err).NotTo(HaveOccurred(), "start the faked ARM")
	DeferCleanup(func() {
		Expect(arm.Unexpected()).To(BeEmpty(), "every request to ARM is one that ARM knows")
		Expect(arm.Close()).To(Succeed(), "close the faked ARM")
	})
	return arm
}

// apiServerName is the name that the cluster's API server proves.
func apiServerName() string {
	GinkgoHelper()
	name, err := scenarios.APIServerName(cluster.RESTConfig)
	Expect(err).NotTo(HaveOccurred(), "name the API server")
	return name
}

func lease(ctx context.Context, name string) *coordinationv1.Lease {
	GinkgoHelper()
	l, err := client().CoordinationV1().Leases(meshNamespace).Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred(), "get a lease")
	return l
}

// deleteLeases deletes what real istiods have left of a revision.
func deleteLeases(ctx context.Context, revision, namespace string) {
	GinkgoHelper()
	for _, election := range []string{"istio-gateway-deployment", "istio-gateway-status-leader"} {
		err := client().CoordinationV1().Leases(namespace).Delete(ctx, fmt.Sprintf("%s-%s", election, revision), metav1.DeleteOptions{})
		if err != nil {
			Expect(err).To(MatchError(ContainSubstring("not found")))
		}
	}
}
