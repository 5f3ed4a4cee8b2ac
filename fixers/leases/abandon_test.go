package leases_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

func TestNothingIsDeletedWhenAListCannotBeRead(t *testing.T) {
	for _, list := range []string{"/deployments", "/services", "/pods", "/mutatingwebhookconfigurations", "/leases"} {
		t.Run(list, func(t *testing.T) {
			g := NewWithT(t)
			c := startCluster(t, orphans(1)...)
			c.unreadable = list
			f, record := c.fixer()
			outcome, err := f.Fix(t.Context())
			g.Expect(err).To(MatchError(HaveSuffix(": the message of Forbidden")))
			g.Expect(outcome).To(Equal(fixers.Outcome{Error: err.Error()}))
			g.Expect(c.deleted()).To(BeEmpty())
			g.Expect(files(t, record.Dir)).To(BeEmpty())
		})
	}
}

func TestAShutGateRefusesEverythingAndIsAudited(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, orphans(1)...)
	c.installation.ProvisioningState = "Updating"
	f, record := c.fixer()

	outcome, err := f.Fix(t.Context())

	const reason = "not met: provisioning has succeeded (provisioning state is Updating)"
	g.Expect(err).To(MatchError(fixers.ErrRefused))
	g.Expect(outcome).To(Equal(fixers.Outcome{Refused: []string{reason}, AuditFile: filepath.Join(record.Dir, fixers.AuditFile)}))
	g.Expect(c.deleted()).To(BeEmpty())
	g.Expect(c.lists).NotTo(ContainElement(leasesPath), "no lease is looked at")
	g.Expect(files(t, record.Dir)).To(ConsistOf(fixers.AuditFile))
	g.Expect(decisions(t, outcome.AuditFile)).To(ConsistOf(And(
		HaveField("Object", "every lease"), HaveField("Namespace", "aks-istio-system"),
		HaveField("Decision", "keep"), HaveField("Result", "kept"), HaveField("Error", "refused to fix: "+reason),
	)))
}

// The world may move between the first look at the gate and the deletions.
func TestTheGateIsLookedAtOnceMoreBeforeTheFirstDeletion(t *testing.T) {
	for name, row := range map[string]struct {
		move    func(*cluster)
		refused []string
		says    string
		err     string // of the outcome, where it is more than a refusal
	}{
		"and is shut": {
			func(c *cluster) { c.installation.UpgradeInProgress = "ARM answered 409" },
			[]string{"not met: no mesh upgrade is in progress (ARM answered 409)"},
			"refused to fix: not met: no mesh upgrade is in progress (ARM answered 409)", "",
		},
		"and cannot be read": {
			func(c *cluster) { c.unreadable = "/deployments" }, nil,
			"list deployments in aks-istio-system: the message of Forbidden", "list deployments in aks-istio-system: the message of Forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			marked := leaseOf("asm-1-28")
			marked.Finalizers = []string{"f/x"}
			c := startCluster(t, append(orphans(2), marked)...)
			c.onAsked = func(n int) {
				if n == 2 {
					c.mu.Lock()
					defer c.mu.Unlock()
					row.move(c)
				}
			}
			f, _ := c.fixer()

			outcome, err := f.Fix(t.Context())

			g.Expect(err).To(MatchError(row.says))
			g.Expect(outcome.Refused).To(Equal(row.refused))
			g.Expect(outcome.Error).To(Equal(row.err))
			g.Expect(outcome.RestoreFile).To(BeEmpty(), "there is nothing to restore")
			g.Expect(outcome.Results).To(HaveLen(3))
			g.Expect(outcome.Results).To(HaveEach(HaveField("Action", fixers.Kept)))
			g.Expect(outcome.Results[1:]).To(HaveEach(HaveField("Why", row.says)))
			g.Expect(c.deleted()).To(BeEmpty())
			var lines []string
			for _, d := range decisions(t, outcome.AuditFile) {
				lines = append(lines, strings.Join([]string{strings.TrimPrefix(d.Object, "lease istio-gateway-deployment-"), d.Decision, d.Result, d.Error}, "|"))
			}
			g.Expect(lines).To(Equal([]string{
				"asm-1-28|keep|kept|", "asm-0-000|delete|planned|", "asm-0-001|delete|planned|",
				"asm-0-000|keep|kept|" + row.says, "asm-0-001|keep|kept|" + row.says,
			}), "the audit has the plan, and that it was given up")
		})
	}
}

var errInterrupted = errors.New("interrupted by the pipeline")

func TestAnEndedContextDeletesNothing(t *testing.T) {
	for name, at := range map[string]int{"before the start": 0, "at the first look": 1, "at the last look": 2} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := startCluster(t, orphans(2)...)
			ctx, cancel := context.WithCancelCause(t.Context())
			end := func(n int) {
				if n == at {
					cancel(errInterrupted)
				}
			}
			c.onAsked = end
			end(0)
			f, _ := c.fixer()
			outcome, err := f.Fix(ctx)
			g.Expect(err).To(MatchError(context.Canceled))
			g.Expect(outcome.Error).NotTo(BeEmpty())
			g.Expect(c.deleted()).To(BeEmpty())
		})
	}
}

func TestALastLookThatFailsIsAnErrorBesideTheResults(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, orphans(2)...)
	c.onDelete = func(w http.ResponseWriter, name string) {
		c.done(w, name)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unreadable = "/leases"
	}
	f, _ := c.fixer()
	outcome, err := f.Fix(t.Context())
	g.Expect(err).To(MatchError("look for deleted leases again: list leases in aks-istio-system: the message of Forbidden"))
	g.Expect(outcome.Error).To(Equal(err.Error()))
	g.Expect(outcome.Count(fixers.Deleted)).To(Equal(2), "what was done stays told")
}
