package rehearsal

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/fixtures/faultproxy"
)

const (
	leasesPath = "/apis/coordination.k8s.io/v1/namespaces/aks-istio-system/leases"
	// victim is the lease whose deletion is failed.
	victim = "istio-gateway-deployment-asm-1-28"
)

// request matches requests by their method and path.
func request(method, path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && r.URL.Path == path }
}

// afterFirst matches what matches does, but for the first time: that of the
// spec, so that the fixer is hit.
func afterFirst(matches func(*http.Request) bool) func(*http.Request) bool {
	var seen atomic.Int32
	return func(r *http.Request) bool { return matches(r) && seen.Add(1) > 1 }
}

var (
	listLeases   = request(http.MethodGet, leasesPath)
	deleteVictim = request(http.MethodDelete, leasesPath+"/"+victim)
)

// faults are what an API server may do to a request.
var faults = map[string]faultproxy.Fault{
	"403":        {Status: 403, Reason: metav1.StatusReasonForbidden},
	"409":        {Status: 409, Reason: metav1.StatusReasonConflict},
	"422":        {Status: 422, Reason: metav1.StatusReasonInvalid},
	"429":        {Status: 429, Reason: metav1.StatusReasonTooManyRequests},
	"500":        {Status: 500, Reason: metav1.StatusReasonInternalError},
	"reset":      {Reset: true},
	"lost":       {Reset: true, Forward: true}, // done, but the answer is lost
	"slow":       {Delay: 2 * time.Second},
	"terminated": {Status: 504, Reason: metav1.StatusReasonTimeout},
}

var _ = Describe("The API server's faults", func() {
	// One fault, a number of times (0: for ever), on one kind of request of a
	// run with --fix over four orphans.
	DescribeTable("fail honestly, and cost no lease that is not an orphan",
		func(spec SpecContext, fault string, times int, where string, exit int, verdicts map[string]expected, kept []string) {
			ctx, cancel := context.WithTimeout(spec, timeouts.Rehearsal)
			defer cancel()
			s := setUp(ctx, "retired-leases")
			before := leases(ctx)
			f := faults[fault]
			f.Times = times
			f.Matches = map[string]func(*http.Request) bool{
				"list":              listLeases,
				"list of the fixer": afterFirst(listLeases),
				"pods of the fixer": afterFirst(request(http.MethodGet, "/api/v1/namespaces/aks-istio-system/pods")),
				"delete":            deleteVictim,
			}[where]
			proxy := s.throughProxy()
			proxy.Inject(f)

			result := s.run(ctx, "--fix")

			Expect(proxy.Requests()).To(ContainElement(HaveField("Faulted", true)), "the fault was met")
			Expect(result.exit).To(Equal(exit), "exit code")
			states := map[string]string{}
			for spec, e := range verdicts {
				states[spec] = e.verdict
				if e.says != "" {
					Expect(result.firstLines[spec]).To(HavePrefix(e.says), "first line of %s", spec)
				}
			}
			Expect(result.verdicts).To(Equal(states), "verdicts in the summary")
			Expect(leases(ctx)).To(Equal(without(before, but(orphansOf2728, kept...)...)), "leases afterwards")
		},
		func(fault string, times int, where string, exit int, verdicts map[string]expected, kept []string) string {
			often := "for ever"
			if times > 0 {
				often = fmt.Sprintf("%d time(s)", times)
			}
			return fmt.Sprintf("%s on %s, %s", fault, where, often)
		},
		// A verdict needs every list.
		Entry(nil, "403", 0, "list", 1, listUnread, orphansOf2728),
		Entry(nil, "409", 0, "list", 1, listUnread, orphansOf2728),
		Entry(nil, "422", 0, "list", 1, listUnread, orphansOf2728),
		Entry(nil, "429", 0, "list", 1, listUnread, orphansOf2728),
		Entry(nil, "500", 0, "list", 1, listUnread, orphansOf2728),
		Entry(nil, "reset", 0, "list", 1, listUnread, orphansOf2728),
		Entry(nil, "429", 2, "list", 0, leasesFixed, nil),
		Entry(nil, "500", 2, "list", 0, leasesFixed, nil),
		Entry(nil, "reset", 2, "list", 0, leasesFixed, nil),
		Entry(nil, "slow", 1, "list", 0, leasesFixed, nil),
		// So does a deletion.
		Entry(nil, "403", 0, "list of the fixer", 1, leasesFound, orphansOf2728),
		Entry(nil, "500", 0, "list of the fixer", 1, leasesFound, orphansOf2728),
		Entry(nil, "403", 0, "pods of the fixer", 1, leasesFound, orphansOf2728),
		Entry(nil, "reset", 0, "pods of the fixer", 1, leasesFound, orphansOf2728),
		// One deletion that fails does not stop the others.
		Entry(nil, "403", 0, "delete", 1, victimLeft, []string{victim}),
		Entry(nil, "409", 0, "delete", 1, victimLeft, []string{victim}),
		Entry(nil, "422", 0, "delete", 1, victimLeft, []string{victim}),
		Entry(nil, "429", 0, "delete", 1, victimLeft, []string{victim}),
		Entry(nil, "500", 0, "delete", 1, victimLeft, []string{victim}),
		Entry(nil, "reset", 0, "delete", 1, victimLeft, []string{victim}),
		Entry(nil, "429", 1, "delete", 0, leasesFixed, nil),
		Entry(nil, "500", 1, "delete", 0, leasesFixed, nil),
		Entry(nil, "terminated", 1, "delete", 0, leasesFixed, nil),
		Entry(nil, "reset", 1, "delete", 0, leasesFixed, nil),
		Entry(nil, "lost", 1, "delete", 0, leasesFixed, nil),
		Entry(nil, "lost", 0, "delete", 0, leasesFixed, nil),
		Entry(nil, "slow", 1, "delete", 0, leasesFixed, nil),
	)

	It("take a lease that vanishes before its deletion for gone", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		s.throughProxy().Inject(faultproxy.Fault{Matches: deleteVictim, Times: 1, Before: func() {
			defer GinkgoRecover()
			Expect(client().CoordinationV1().Leases(meshNamespace).Delete(ctx, victim, metav1.DeleteOptions{})).To(Succeed())
		}})
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(BeZero())
		Expect(result.output).To(ContainSubstring("lease " + victim + ": already gone"))
		Expect(leases(ctx)).To(Equal(without(before, orphansOf2728...)))
	})

	It("keep a lease that is renewed before its deletion", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		s.throughProxy().Inject(faultproxy.Fault{Matches: deleteVictim, Times: 1, Before: func() {
			defer GinkgoRecover()
			renew(ctx, victim)
		}})
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FIXED"}))
		Expect(result.output).To(ContainSubstring("lease " + victim + ": kept (it has changed since it was judged"))
		Expect(leases(ctx)).To(Equal(without(before, but(orphansOf2728, victim)...)))
	})

	It("keep a lease that is another object before its deletion", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		s.throughProxy().Inject(faultproxy.Fault{Matches: deleteVictim, Times: 1, Before: func() {
			defer GinkgoRecover()
			Expect(client().CoordinationV1().Leases(meshNamespace).Delete(ctx, victim, metav1.DeleteOptions{})).To(Succeed())
			acquire(ctx, victim)
		}})
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FIXED"}))
		Expect(leases(ctx)).To(HaveKey(victim))
	})

	It("fail loudly on a lease that comes back", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		done := comeBack(ctx, victim)
		result := s.run(ctx, "--fix")
		<-done
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FAIL"}), "one that came back fails all that the fixer did")
		Expect(result.output).To(ContainSubstring("lease " + victim + ": came back (came back after its deletion: revision asm-1-28 is not retired"))
		Expect(leases(ctx)).To(HaveKey(victim), "what came back is kept")
	})
})

// listUnread is what a run must say that cannot list the leases.
var listUnread = map[string]expected{
	gatewayLease: {"UNVERIFIED", "Could not verify leader-election leases: list leases in aks-istio-system: "},
	statusLease:  {"UNVERIFIED", "Could not verify leader-election leases: list leases in aks-istio-system: "},
}

// victimLeft is what a run must say that could not delete the victim.
var victimLeft = map[string]expected{gatewayLease: retiredFound, statusLease: fixed}

// renew writes a lease as its holder does.
func renew(ctx context.Context, name string) {
	GinkgoHelper()
	c := client().CoordinationV1().Leases(meshNamespace)
	l, err := c.Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	now := metav1.NowMicro()
	l.Spec.RenewTime = &now
	_, err = c.Update(ctx, l, metav1.UpdateOptions{FieldManager: "pilot-discovery"})
	Expect(err).NotTo(HaveOccurred())
}

// acquire creates a lease as an istiod does that finds none.
func acquire(ctx context.Context, name string) {
	GinkgoHelper()
	holder, seconds, now := "istiod-asm-1-28-7cdb796c5-zzzzz", int32(30), metav1.NowMicro()
	c := client().CoordinationV1().Leases(meshNamespace)
	_, err := c.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: meshNamespace},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now},
	}, metav1.CreateOptions{FieldManager: "pilot-discovery"})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(c.Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	})
}

// but returns the names without those.
func but(names []string, those ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(those, name) })
}

var _ = Describe("ARM's faults", func() {
	DescribeTable("make everything that needs ARM unverified, and delete nothing",
		func(spec SpecContext, says string, f fakearm.Fault) {
			ctx, cancel := context.WithTimeout(spec, timeouts.Rehearsal)
			defer cancel()
			s := setUp(ctx, "retired-leases")
			before := leases(ctx)
			s.inject(f)
			result := s.run(ctx, "--fix")
			Expect(result.exit).To(Equal(1))
			states := map[string]string{}
			for spec, e := range armUnread("UNVERIFIED", "") {
				states[spec] = e.verdict
				Expect(result.firstLines[spec]).To(And(HavePrefix("Could not verify the mesh's installation: "), ContainSubstring(says)))
			}
			Expect(result.verdicts).To(Equal(states))
			Expect(leases(ctx)).To(Equal(before))
		},
		Entry("401", "ARM answered 401 InvalidAuthenticationToken", fakearm.Fault{Route: fakearm.GetCluster, Status: 401, Code: "InvalidAuthenticationToken"}),
		Entry("404", "ARM answered 404 ResourceNotFound", fakearm.Fault{Route: fakearm.GetCluster, Status: 404, Code: "ResourceNotFound"}),
		Entry("another 409", "ARM answered 409 OperationNotAllowed", fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 409, Code: "OperationNotAllowed"}),
		Entry("throttled for long", "ARM answered 429 Throttled", fakearm.Fault{Route: fakearm.GetCluster, Status: 429, Code: "Throttled", RetryAfter: 2 * time.Minute}),
		Entry("500 for ever", "ARM answered 500 InternalServerError", fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 500, Code: "InternalServerError"}),
		Entry("cut off", "", fakearm.Fault{Route: fakearm.GetCluster, Body: fakearm.CutOff}),
		Entry("malformed", "", fakearm.Fault{Route: fakearm.GetCluster, Body: fakearm.Malformed}),
		Entry("empty", "the answer has no properties", fakearm.Fault{Route: fakearm.GetCluster, Body: fakearm.Empty}),
	)

	It("are forgotten when they pass", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "settled")
		s.inject(fakearm.Fault{Route: fakearm.GetCluster, Status: 500, Code: "InternalServerError", Times: 2})
		s.inject(fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 429, Code: "Throttled", RetryAfter: time.Second, Times: 1})
		Expect(s.run(ctx).exit).To(BeZero())
	})

	It("between judging and deleting stop the deletion", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		// The suite reads ARM once, and the fixer's gate twice: an upgrade that
		// starts before the last look must be seen by it.
		pods := request(http.MethodGet, "/api/v1/namespaces/aks-istio-system/pods")
		s.throughProxy().Inject(faultproxy.Fault{Matches: afterFirst(pods), Times: 1, Before: func() {
			defer GinkgoRecover()
			Expect(s.arm.StartUpgrade(clusterID, "asm-1-30")).To(Succeed())
		}})
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "REFUSED", statusLease: "REFUSED"}))
		Expect(leases(ctx)).To(Equal(before))
		results := audited(result.file("audit.jsonl"))
		Expect(results).To(HaveLen(4))
		Expect(results).To(HaveEach([]string{"planned", "kept"}), "the audit ends with what was done")
		Expect(result.output).NotTo(ContainSubstring("kubectl -n"), "no deletion by hand is proposed while the gate is shut")
		Expect(result.output).NotTo(ContainSubstring("restore with"), "there is nothing to restore")
	})
})
