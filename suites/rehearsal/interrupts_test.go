package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/fixtures/faultproxy"
	"github.com/mesh-postflight/mesh-postflight/fixtures/scenarios"
)

// many are more orphans than the fixer deletes at the same time.
const many = 40

func manyNames() []string {
	var names []string
	for n := range many {
		names = append(names, fmt.Sprintf("istio-gateway-deployment-asm-0-%d", n))
	}
	return names
}

func manyOrphans() []scenarios.Object {
	var orphans []scenarios.Object
	for _, name := range manyNames() {
		orphans = append(orphans, orphanLease(name))
	}
	return orphans
}

func isDelete(r *http.Request) bool { return r.Method == http.MethodDelete }

// interrupted starts a pipeline and sends it a signal when its first deletion
// arrives, which like all others takes a while.
func interrupted(ctx context.Context, s *stage, p pipeline, signal syscall.Signal) run {
	GinkgoHelper()
	var (
		output  bytes.Buffer
		command = p.command(ctx)
		once    sync.Once
	)
	command.Stdout, command.Stderr = &output, &output
	remove := s.proxy.Inject(faultproxy.Fault{Matches: isDelete, Delay: 500 * time.Millisecond, Before: func() {
		once.Do(func() { _ = command.Process.Signal(signal) })
	}})
	defer remove()
	return p.result(command.Run(), output.String())
}

// interruptReading runs a command whose first question to ARM is not answered,
// and sends its process, and no other, a SIGINT then. It returns what the command
// wrote and how it ended.
func (s *stage) interruptReading(ctx context.Context, command *exec.Cmd) (output string, err error) {
	GinkgoHelper()
	s.inject(fakearm.Fault{Route: fakearm.GetCluster, Delay: time.Minute})
	var written bytes.Buffer
	command.Stdout, command.Stderr = &written, &written
	Expect(command.Start()).To(Succeed())
	Eventually(ctx, s.arm.Journal).WithTimeout(timeouts.Propagation).ShouldNot(BeEmpty(), "ARM is asked")
	Expect(command.Process.Signal(syscall.SIGINT)).To(Succeed())
	err = command.Wait()
	return written.String(), err
}

// audited returns the results that an audit has of each lease, in order.
func audited(audit string) map[string][]string {
	GinkgoHelper()
	results := map[string][]string{}
	for line := range strings.Lines(audit) {
		var decision struct{ Object, Result, Time, Who, Cluster, UID, Decision string }
		Expect(json.Unmarshal([]byte(line), &decision)).To(Succeed(), "every line of the audit is JSON")
		Expect([]string{decision.Time, decision.Who, decision.Cluster, decision.UID, decision.Decision}).NotTo(ContainElement(""), "every decision is told in full")
		name := strings.TrimPrefix(decision.Object, "lease ")
		results[name] = append(results[name], decision.Result)
	}
	return results
}

var _ = Describe("A run that is cut short", func() {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		It(fmt.Sprintf("by %s finishes the deletions under way, and says what was not done", signal), SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
			s := setUp(ctx, "settled", manyOrphans()...)
			s.throughProxy()
			before := leases(ctx)
			p := s.as(ctx, fixer, "--fix", "--max-deletions", "100")

			result := interrupted(ctx, s, p, signal)

			Expect(result.exit).NotTo(BeZero())
			left := leases(ctx)
			results := audited(result.file("audit.jsonl"))
			deleted, notTried := 0, 0
			for _, name := range manyNames() {
				_, there := left[name]
				switch last := results[name][len(results[name])-1]; last {
				case "deleted":
					deleted++
					Expect(there).To(BeFalse(), "%s is said to be deleted", name)
				case "not tried":
					notTried++
					Expect(there).To(BeTrue(), "%s is said to be left", name)
				default:
					Fail(name + " ended as " + last)
				}
				Expect(result.output).To(ContainSubstring("lease " + name + ": "))
			}
			Expect(deleted).To(BeNumerically(">", 0), "deletions were under way")
			Expect(notTried).To(BeNumerically(">", 0), "others had not begun")
			Expect(len(before)-len(left)).To(Equal(deleted), "nothing else is gone")

			again := s.as(ctx, fixer, "--fix", "--max-deletions", "100").run(ctx)
			Expect(again.exit).To(BeZero(), "a second run finishes")
			Expect(leases(ctx)).To(HaveLen(len(before) - many))
		})
	}

	It("by SIGKILL leaves a record, and the next run converges", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "settled", manyOrphans()...)
		s.throughProxy()
		before := leases(ctx)
		p := s.as(ctx, fixer, "--fix", "--max-deletions", "100")
		killed := interrupted(ctx, s, p, syscall.SIGKILL)
		Expect(killed.exit).To(Equal(-1), "it was killed")
		results := audited(killed.file("audit.jsonl"))
		for _, name := range manyNames() {
			Expect(results).To(HaveKeyWithValue(name, HaveExactElements("planned")))
		}
		Expect(restoreFiles(killed.artifacts)).To(HaveLen(1), "the backup was written first")
		Expect(s.as(ctx, fixer, "--fix", "--max-deletions", "100").run(ctx).exit).To(BeZero())
		Expect(leases(ctx)).To(Equal(without(before, manyNames()...)))
	})

	It("by SIGINT while it reads deletes nothing", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		p := s.as(ctx, fixer, "--fix")
		output, err := s.interruptReading(ctx, p.command(ctx))
		result := p.result(err, output)
		Expect(result.exit).NotTo(BeZero())
		Expect(leases(ctx)).To(Equal(before))
		Expect(restoreFiles(result.artifacts)).To(BeEmpty())
	})

	It("or run beside another one converges", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		pipelines := []pipeline{s.as(ctx, fixer, "--fix"), s.as(ctx, fixer, "--fix")}
		var (
			outputs  [2]bytes.Buffer
			commands [2]*exec.Cmd
		)
		for i, p := range pipelines {
			commands[i] = p.command(ctx)
			commands[i].Stdout, commands[i].Stderr = &outputs[i], &outputs[i]
			Expect(commands[i].Start()).To(Succeed())
		}
		for i, p := range pipelines {
			Expect(p.result(commands[i].Wait(), outputs[i].String()).exit).To(BeZero())
		}
		Expect(leases(ctx)).To(Equal(without(before, orphansOf2728...)))
	})
})
