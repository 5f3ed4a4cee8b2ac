package leases_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

func TestEveryDeletionIsBoundToTheStateThatWasJudged(t *testing.T) {
	g := NewWithT(t)
	stored := orphans(5)
	c := startCluster(t, append(stored, leaseOf("asm-1-29"))...)
	f, _ := c.fixer()

	_, err := f.Fix(t.Context())

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.deleted()).To(Equal(namesOf(stored)), "exactly the plan")
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.deletions {
		g.Expect(d.options.Preconditions).NotTo(BeNil())
		g.Expect(d.options.Preconditions.UID).To(HaveValue(BeEquivalentTo("uid-of-" + d.name)))
		g.Expect(d.options.Preconditions.ResourceVersion).To(HaveValue(Equal("version-of-" + d.name)))
	}
}

// answers are those to the deletion of one lease, in order; the last is given
// again. Each does something to the lease, or nothing, and then answers.
type answers []struct {
	do   func(c *cluster, name string)
	code int // 0 breaks the connection
}

func (a answers) give(c *cluster) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, name string) {
		next := a[0]
		if len(a) > 1 {
			a = a[1:]
		}
		if next.do != nil {
			next.do(c, name)
		}
		switch next.code {
		case 0:
			panic(http.ErrAbortHandler)
		case http.StatusOK:
			respond(w, next.code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
		default:
			answer(w, next.code, reasons[next.code])
		}
	}
}

var reasons = map[int]metav1.StatusReason{
	403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict,
	422: metav1.StatusReasonInvalid, 429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError,
}

func remove(c *cluster, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, name)
}

// replace puts another object of the same name there.
func replace(c *cluster, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := leaseOf("asm-0-000")
	l.UID = "another"
	c.leases[name] = l
}

func TestWhatBecomesOfALease(t *testing.T) {
	const (
		name     = "istio-gateway-deployment-asm-0-000"
		orphaned = "orphaned: revision asm-0-000, holder istiod-asm-0-000-7d9f5c6b8-x2x4z (no such pod), renewed "
		cameBack = "came back after its deletion: revision asm-0-000 is not retired, somebody made its lease again"
		changed  = "it has changed since it was judged, so somebody may hold it"
		still    = "it is still there, the same object, although the API server said that it was gone"
	)
	for about, row := range map[string]struct {
		answers answers
		action  fixers.Action
		says    string // in the result, and in the error of what went wrong
		asked   int
		// audited are the results in the audit.
		audited []string
	}{
		"it is deleted":                  {answers{{remove, 200}}, fixers.Deleted, orphaned, 1, []string{"deleted"}},
		"it is gone already":             {answers{{remove, 404}}, fixers.AlreadyGone, orphaned, 1, []string{"already gone"}},
		"it has changed":                 {answers{{nil, 409}}, fixers.Kept, changed, 1, []string{"kept"}},
		"it has changed, and goes":       {answers{{remove, 409}}, fixers.Kept, changed, 1, []string{"kept"}},
		"it is denied":                   {answers{{nil, 403}}, fixers.Failed, "the message of Forbidden", 1, []string{"failed"}},
		"it is denied, and goes":         {answers{{remove, 403}}, fixers.Failed, "the message of Forbidden", 1, []string{"failed"}},
		"a policy denies it":             {answers{{nil, 422}}, fixers.Failed, "the message of Invalid", 1, []string{"failed"}},
		"a second attempt deletes it":    {answers{{nil, 500}, {remove, 200}}, fixers.Deleted, orphaned, 2, []string{"deleted"}},
		"a third attempt deletes it":     {answers{{nil, 429}, {nil, 0}, {remove, 200}}, fixers.Deleted, orphaned, 3, []string{"deleted"}},
		"the answer is lost":             {answers{{remove, 0}, {nil, 404}}, fixers.Deleted, orphaned, 2, []string{"deleted"}},
		"an error hides that it is done": {answers{{remove, 500}, {nil, 404}}, fixers.Deleted, orphaned, 2, []string{"deleted"}},
		"throttling hides nothing":       {answers{{remove, 429}, {nil, 404}}, fixers.AlreadyGone, orphaned, 2, []string{"already gone"}},
		"lost, then denied, yet gone":    {answers{{remove, 0}, {nil, 403}}, fixers.Deleted, orphaned, 2, []string{"failed", "deleted"}},
		"lost, then denied, and there":   {answers{{nil, 0}, {nil, 403}}, fixers.Failed, "the message of Forbidden", 2, []string{"failed"}},
		"lost, then changed, and there":  {answers{{nil, 0}, {nil, 409}}, fixers.Kept, changed, 2, []string{"kept"}},
		"lost, then made again":          {answers{{replace, 0}, {nil, 409}}, fixers.CameBack, cameBack, 2, []string{"kept", "came back"}},
		"it comes back":                  {answers{{replace, 200}}, fixers.CameBack, cameBack, 1, []string{"deleted", "came back"}},
		"gone already, it comes back":    {answers{{replace, 404}}, fixers.CameBack, cameBack, 1, []string{"already gone", "came back"}},
		"it is said to be deleted":       {answers{{nil, 200}}, fixers.Failed, still, 1, []string{"deleted", "failed"}},
		"it is said to be gone":          {answers{{nil, 404}}, fixers.Failed, still, 1, []string{"already gone", "failed"}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel() // most of it is waiting for the next attempt
			g := NewWithT(t)
			c := startCluster(t, orphans(1)...)
			c.onDelete = row.answers.give(c)
			f, _ := c.fixer()

			outcome, err := f.Fix(t.Context())

			g.Expect(outcome.Results).To(ConsistOf(And(
				HaveField("Object", "lease "+name), HaveField("UID", "uid-of-"+name),
				HaveField("Action", row.action), HaveField("Why", HavePrefix(row.says)),
			)))
			g.Expect(outcome.Error).To(BeEmpty(), "that is for what goes wrong beside single leases")
			switch row.action {
			case fixers.Failed, fixers.CameBack:
				g.Expect(err).To(MatchError("delete lease " + name + ": " + row.says))
			default:
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(errors.Is(err, fixers.ErrCameBack)).To(Equal(row.action == fixers.CameBack))
			g.Expect(c.deleted()).To(HaveLen(row.asked))
			var audited []string
			for _, d := range decisions(t, outcome.AuditFile)[1:] { // after the plan
				audited = append(audited, d.Result)
			}
			g.Expect(audited).To(Equal(row.audited))
		})
	}
}

// Somebody else deleted it: our request was refused.
func TestALeaseThatGoesAfterItsDeletionWasDeniedIsNotCalledDeleted(t *testing.T) {
	g := NewWithT(t)
	stored := orphans(2)
	c := startCluster(t, stored...)
	c.onDelete = func(w http.ResponseWriter, name string) {
		if name == stored[1].Name {
			answers{{remove, 403}}.give(c)(w, name)
			return
		}
		c.done(w, name) // and so the leases are looked at once more
	}
	f, _ := c.fixer()
	outcome, err := f.Fix(t.Context())
	g.Expect(err).To(MatchError("delete lease " + stored[1].Name + ": the message of Forbidden"))
	g.Expect(outcome.Count(fixers.Deleted)).To(Equal(1))
	g.Expect(outcome.Count(fixers.Failed)).To(Equal(1))
}

func TestOneDeletionThatFailsStopsNoOther(t *testing.T) {
	g := NewWithT(t)
	stored := orphans(4)
	c := startCluster(t, stored...)
	c.onDelete = func(w http.ResponseWriter, name string) {
		if name == stored[1].Name {
			answer(w, http.StatusForbidden, metav1.StatusReasonForbidden)
			return
		}
		c.done(w, name)
	}
	f, _ := c.fixer()
	outcome, err := f.Fix(t.Context())
	g.Expect(err).To(MatchError("delete lease " + stored[1].Name + ": the message of Forbidden"))
	g.Expect(outcome.Count(fixers.Deleted)).To(Equal(3))
	g.Expect(c.left()).To(Equal([]string{stored[1].Name}))
}

// An API server that cannot tell whether it has obeyed says so with a time to try
// again, on which client-go would try again by itself and keep the first answer.
func TestAnObeyedDeletionThatIsAnsweredWithATimeToRetry(t *testing.T) {
	for name, row := range map[string]struct {
		obey   func(c *cluster, name string)
		second int
		action fixers.Action
		err    error
	}{
		"is told as deleted": {func(c *cluster, name string) { delete(c.leases, name) }, http.StatusNotFound, fixers.Deleted, nil},
		"does not hide that the lease came back": {func(c *cluster, name string) {
			l, now := c.leases[name], metav1.NowMicro()
			l.UID, l.ResourceVersion, l.Spec.RenewTime = "another", "8", &now
			c.leases[name] = l
		}, http.StatusConflict, fixers.CameBack, fixers.ErrCameBack},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := startCluster(t, orphans(1)...)
			tries := 0
			c.onDelete = func(w http.ResponseWriter, name string) {
				if tries++; tries > 1 {
					answer(w, row.second, reasons[row.second])
					return
				}
				c.mu.Lock()
				row.obey(c, name)
				c.mu.Unlock()
				w.Header().Set("Retry-After", "1")
				answer(w, http.StatusInternalServerError, metav1.StatusReasonServerTimeout)
			}
			f, _ := c.fixer()
			outcome, err := f.Fix(t.Context())
			g.Expect(outcome.Count(row.action)).To(Equal(1), outcome.String())
			if row.err == nil {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.err))
			}
		})
	}
}

func TestThrottlingIsTriedFourTimesAndThenTold(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, orphans(1)...)
	tries := 0
	c.onDelete = func(w http.ResponseWriter, name string) {
		tries++
		w.Header().Set("Retry-After", "60")
		answer(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	}
	f, _ := c.fixer()
	outcome, err := f.Fix(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("TooManyRequests")))
	g.Expect(outcome.Count(fixers.Failed)).To(Equal(1))
	g.Expect(tries).To(Equal(4))
	g.Expect(outcome.RestoreFile).To(BeEmpty(), "nothing was deleted")
}

// A server's warning is any text that an admission policy's author chose.
func TestAWarningOfTheServerIsNotPrinted(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, orphans(1)...)
	c.onDelete = func(w http.ResponseWriter, name string) {
		w.Header().Add("Warning", `299 - "##vso[task.complete result=Succeeded;]"`)
		c.done(w, name)
	}
	f, _ := c.fixer()
	path := filepath.Join(t.TempDir(), "stderr")
	printed, err := os.Create(path)
	g.Expect(err).NotTo(HaveOccurred())
	stderr := os.Stderr
	os.Stderr = printed
	_, err = f.Fix(t.Context())
	os.Stderr = stderr
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.ReadFile(path)).To(BeEmpty())
}
