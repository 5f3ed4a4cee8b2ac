package leases_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
)

// atOnce is how many deletions may be under way.
const atOnce = 16

// turnstile holds deletions back: each arrives, and ends when it is let.
type turnstile struct {
	t            *testing.T
	arrived, let chan struct{}
}

func newTurnstile(t *testing.T) turnstile {
	return turnstile{t, make(chan struct{}), make(chan struct{})}
}

// pass is called by a deletion. The end of the test lets it through, too.
func (s turnstile) pass() {
	over := s.t.Context().Done()
	select {
	case s.arrived <- struct{}{}:
	case <-over:
	}
	select {
	case <-s.let:
	case <-over:
	}
}

// await waits until n more deletions have arrived.
func (s turnstile) await(n int) {
	s.t.Helper()
	for range n {
		NewWithT(s.t).Eventually(s.arrived).WithTimeout(10*time.Second).Should(Receive(), "a deletion arrives")
	}
}

// fix calls the fixer, and sends what it returns.
func fix(ctx context.Context, f *leases.Fixer) <-chan fixed {
	ended := make(chan fixed, 1)
	go func() {
		outcome, err := f.Fix(ctx)
		ended <- fixed{outcome, err}
	}()
	return ended
}

type fixed struct {
	outcome fixers.Outcome
	err     error
}

func TestDeletionsRunAtOnceButNeverMoreThanSixteen(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, orphans(5*atOnce)...)
	gate := newTurnstile(t)
	underWay, most := 0, 0
	count := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		underWay += n
		most = max(most, underWay)
	}
	c.onDelete = func(w http.ResponseWriter, name string) {
		count(1)
		gate.pass()
		count(-1)
		c.done(w, name)
	}
	f, _ := c.fixer(func(o *leases.Options) { o.MaxDeletions = 5 * atOnce })
	ended := fix(t.Context(), f)

	gate.await(atOnce) // none of them has ended
	for range 4 * atOnce {
		gate.let <- struct{}{} // each that ends lets one in
		gate.await(1)
	}
	close(gate.let)

	g.Expect((<-ended).err).NotTo(HaveOccurred())
	g.Expect(most).To(Equal(atOnce))
	g.Expect(c.left()).To(BeEmpty())
}

func TestAnInterruptLetsDeletionsUnderWayEndAndTriesNoOther(t *testing.T) {
	g := NewWithT(t)
	stored := orphans(atOnce + 4)
	c := startCluster(t, stored...)
	gate := newTurnstile(t)
	c.onDelete = func(w http.ResponseWriter, name string) {
		gate.pass()
		if name == stored[0].Name {
			answer(w, http.StatusForbidden, metav1.StatusReasonForbidden)
			return
		}
		c.done(w, name)
	}
	f, _ := c.fixer(func(o *leases.Options) { o.RecreationWait = time.Hour })
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	ended := fix(ctx, f)
	gate.await(atOnce)

	interrupt(errInterrupted)
	close(gate.let)
	end := <-ended
	outcome, err := end.outcome, end.err

	g.Expect(err).To(MatchError(errInterrupted))
	g.Expect(c.deleted()).To(HaveLen(atOnce))
	g.Expect(outcome.Count(fixers.Deleted)).To(Equal(atOnce - 1))
	g.Expect(outcome.Count(fixers.Failed)).To(Equal(1))
	g.Expect(outcome.Count(fixers.NotTried)).To(Equal(4))
	for _, r := range outcome.Results {
		if r.Action == fixers.NotTried {
			g.Expect(r.Why).To(Equal("interrupted by the pipeline"))
			g.Expect(c.left()).To(ContainElement(strings.TrimPrefix(r.Object, "lease ")))
		}
	}
	g.Expect(outcome.Error).To(Equal("deleted leases were not looked for again: interrupted by the pipeline; run once more without --fix"))
	results := map[string]int{}
	for _, d := range decisions(t, outcome.AuditFile) {
		results[d.Result]++
	}
	g.Expect(results).To(Equal(map[string]int{"planned": len(stored), "deleted": atOnce - 1, "failed": 1, "not tried": 4}), "the audit knows all of it")
}
