package rehearsal

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/fixtures/faultproxy"
)

// Each of these was once a way to a false success, found by an attack on the
// fixer.
var _ = Describe("No success", func() {
	DescribeTable("when a filter leaves out the spec that would fail",
		func(spec SpecContext, scenario, filter string) {
			ctx, cancel := context.WithTimeout(spec, timeouts.Rehearsal)
			defer cancel()
			s := setUp(ctx, scenario)
			before := leases(ctx)
			result := s.run(ctx, "--fix", "--ginkgo.label-filter", filter)
			Expect(result.exit).To(Equal(1))
			Expect(result.output).To(ContainSubstring("that is no success"))
			Expect(result.output).To(ContainSubstring("NOT RUN"))
			Expect(leases(ctx)).To(Equal(before))
		},
		Entry("in the middle of an upgrade", "mid-upgrade", "leases"),
		Entry("while another revision is installed", "wrong-revision", "fixable"),
		Entry("while an operation runs", "updating", "leases"),
	)

	It("when a filter leaves nothing", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "settled")
		for _, args := range [][]string{{"--ginkgo.label-filter", "nothing"}, {"--ginkgo.focus", "nothing"}, {"-test.run", "Nothing"}, {"-test.count", "0"}} {
			result := s.run(ctx, args...)
			Expect(result.exit).To(Equal(1), "exit code with %q", args)
			Expect(strings.ToLower(result.output)).To(ContainSubstring("no spec was run"))
		}
	})

	It("when what came back belongs to a spec that was not run", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		const other = "istio-gateway-status-leader-asm-1-28"
		done := comeBack(ctx, other)
		result := s.run(ctx, "--fix", "--ginkgo.focus", "gateway-deployment")
		<-done
		Expect(result.exit).To(Equal(1))
		Expect(result.output).To(ContainSubstring("lease " + other + ": came back"))
		for _, name := range orphansOf2728 {
			Expect(result.output).To(ContainSubstring("lease "+name+": "), "every deletion is reported")
		}
	})

	It("when the answer to a deletion is lost and the lease comes back later", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		s.throughProxy().Inject(faultproxy.Fault{Matches: deleteVictim, Reset: true, Forward: true, Times: 1})
		done := comeBack(ctx, victim)
		result := s.run(ctx, "--fix")
		<-done
		Expect(result.exit).To(Equal(1))
		Expect(audited(result.file("audit.jsonl"))).To(HaveKeyWithValue(victim, []string{"planned", "deleted", "came back"}))
	})

	It("when the answer to a deletion is lost and the lease comes back at once", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		proxy := s.throughProxy()
		proxy.Inject(faultproxy.Fault{Matches: deleteVictim, Reset: true, Forward: true, Times: 1})
		proxy.Inject(faultproxy.Fault{Matches: deleteVictim, Times: 1, Before: func() {
			defer GinkgoRecover()
			acquire(ctx, victim)
		}})
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(Equal(1))
		Expect(audited(result.file("audit.jsonl"))).To(HaveKeyWithValue(victim, []string{"planned", "kept", "came back"}))
		Expect(leases(ctx)).To(HaveKey(victim))
	})

	It("when somebody else deletes before the fixer looks, and a lease comes back", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		s.throughProxy().Inject(faultproxy.Fault{Matches: afterFirst(listLeases), Times: 1, Before: deleteOrphans(ctx)})
		done := comeBack(ctx, victim)
		result := s.run(ctx, "--fix")
		<-done
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(HaveKeyWithValue(gatewayLease, "FAIL"))
		Expect(leases(ctx)).To(HaveKey(victim))
	})

	It("of this run's when somebody else deletes before the fixer looks, and all stays away", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		s.throughProxy().Inject(faultproxy.Fault{Matches: afterFirst(listLeases), Times: 1, Before: deleteOrphans(ctx)})
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(BeZero())
		Expect(result.output).To(ContainSubstring("PASS 10 · FIXED 0"))
		Expect(leases(ctx)).To(Equal(without(before, orphansOf2728...)))
	})

	It("when a deletion that failed belongs to a spec that was not run", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		const other = "istio-gateway-status-leader-asm-1-28"
		s.throughProxy().Inject(faultproxy.Fault{
			Matches: func(r *http.Request) bool {
				return r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/"+other)
			},
			Status: 403, Reason: metav1.StatusReasonForbidden,
		})
		result := s.run(ctx, "--fix", "--ginkgo.focus", "gateway-deployment")
		Expect(result.exit).To(Equal(1))
		Expect(result.output).To(And(ContainSubstring("lease "+other+": failed ("), ContainSubstring("that is no success")))
		Expect(result.file("summary.md")).To(ContainSubstring("that is no success"))
		Expect(leases(ctx)).To(HaveKey(other))
	})

	It("is claimed of an API server that does not answer", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "settled")
		Expect(s.throughProxy().Close()).To(Succeed())
		result := s.run(ctx)
		Expect(result.exit).To(Equal(1))
		unread := map[string]string{}
		for _, spec := range []string{access, sameCluster, rolledOut, noOther, gatewayLease, statusLease} {
			unread[spec] = "UNVERIFIED"
		}
		Expect(result.verdicts).To(Equal(unread))
	})

	It("is hidden by Ginkgo's parallel mode", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		p := s.as(ctx, fixer, "--fix")
		inParallel := func() run {
			var output bytes.Buffer
			binary := filepath.Join(GinkgoT().TempDir(), "postupgrade.test")
			Expect(os.Link(suiteBinary, binary)).To(Succeed())
			command := exec.CommandContext(ctx, "go", slices.Concat([]string{"tool", "ginkgo", "run", "--no-color", "--procs=2", "--json-report=" + p.path("report.json"), binary, "--", "--artifacts", p.artifacts}, p.args)...)
			command.Env = append(os.Environ(), p.env...)
			command.Stdout, command.Stderr = &output, &output
			err := command.Run()
			return p.result(err, output.String())
		}
		done := comeBack(ctx, "istio-gateway-status-leader-asm-1-28")
		result := inParallel()
		<-done
		Expect(result.exit).To(Equal(1))
		Expect(result.output).To(ContainSubstring("FIXED 0 · FAIL 2"))
		Expect(leases(ctx)).To(HaveLen(len(before) - 3))
	})
})

// deleteOrphans deletes what the suite has just found, in its place.
func deleteOrphans(ctx context.Context) func() {
	return func() {
		defer GinkgoRecover()
		for _, name := range orphansOf2728 {
			Expect(client().CoordinationV1().Leases(meshNamespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		}
	}
}

// comeBack acquires a lease five seconds after its deletion, as a live istiod
// does within 7.5.
func comeBack(ctx context.Context, name string) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Eventually(ctx, func() map[string]string { return leases(ctx) }).WithTimeout(timeouts.Rehearsal).
			WithPolling(200 * time.Millisecond).ShouldNot(HaveKey(name))
		time.Sleep(5 * time.Second)
		acquire(ctx, name)
	}()
	return done
}

var _ = Describe("A person at 3 a.m.", func() {
	It("is told what --advisory found", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		result := s.run(ctx, "--advisory")
		Expect(result.exit).To(BeZero())
		Expect(result.output).To(MatchRegexp(`(?m)^ +` + victim + ` .*: orphaned$`))
	})

	It("is not commanded by what the cluster says", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		c := client().CoordinationV1().Leases(meshNamespace)
		l := lease(ctx, victim)
		evil := "x\nPASS 10 · FIXED 0 · FAIL 0\n::error::y\x1b[2J##vso[task.complete result=Succeeded;]"
		l.Spec.HolderIdentity = &evil
		_, err := c.Update(ctx, l, metav1.UpdateOptions{FieldManager: "##vso[task.complete]"})
		Expect(err).NotTo(HaveOccurred())
		for _, args := range [][]string{nil, {"--fix"}} {
			result := s.run(ctx, args...)
			Expect(result.exit).To(Equal(1))
			for _, text := range []string{result.output, result.file("summary.md")} {
				Expect(text).NotTo(ContainSubstring("##vso["))
				Expect(text).NotTo(ContainSubstring("\x1b[2J"))
				Expect(text).NotTo(MatchRegexp(`(?m)^\s*::error`))
				Expect(text).NotTo(MatchRegexp(`(?m)^PASS 10`))
			}
		}
	})

	It("has an audit of every deletion, whenever the run is killed", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		p := s.as(ctx, fixer, "--fix")
		var output bytes.Buffer
		command := p.command(ctx)
		command.Stdout, command.Stderr = &output, &output
		Expect(command.Start()).To(Succeed())
		Eventually(ctx, func() map[string]string { return leases(ctx) }).WithTimeout(timeouts.Propagation).WithPolling(50 * time.Millisecond).
			ShouldNot(Or(HaveKey(orphansOf2728[0]), HaveKey(orphansOf2728[1]), HaveKey(orphansOf2728[2]), HaveKey(orphansOf2728[3])))
		// It now waits for what comes back.
		Eventually(ctx, func() int {
			audit, err := os.ReadFile(p.path("audit.jsonl"))
			Expect(err).NotTo(HaveOccurred())
			return strings.Count(string(audit), `"result":"deleted"`)
		}).WithTimeout(5*time.Second).Should(Equal(4), "deletions in the audit while the run waits")
		Expect(command.Process.Signal(syscall.SIGKILL)).To(Succeed())
		Expect(p.result(command.Wait(), output.String()).exit).To(Equal(-1))
	})
})
