package postupgrade

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

// These come last, since a kept lease costs nothing, and one after the other,
// since what one repairs the other sees.
var _ = Describe("Leader election", Label(labelLeases, labelFixable), SpecPriority(-1), Serial, func() {
	When("a revision has been retired", func() {
		expectNoneRetired := func(ctx SpecContext, election mesh.Election) {
			GinkgoHelper()
			env.requireRetirable(ctx)
			installation := env.readInstallation(ctx)
			fix := func(ctx context.Context) (fixers.Outcome, error) {
				outcome, err := env.fixLeases(ctx)
				return outcome.Of(func(r fixers.Result) bool { return strings.HasPrefix(r.Object, "lease "+string(election)) }), err
			}
			expectOrFix(ctx, fix, func(g Gomega, e *environment) {
				leases := e.judgeLeases(ctx, election)
				reportFinding(leases, installation)
				g.Expect(leases).To(matchers.BelongTo(installation), func() string { return e.remedy(ctx, leases) })
			})
		}

		It("keeps no istio-gateway-deployment lease of that revision", SpecTimeout(timeouts.Fix), GracePeriod(timeouts.Grace), func(ctx SpecContext) {
			expectNoneRetired(ctx, mesh.GatewayDeployment)
		})

		It("keeps no istio-gateway-status-leader lease of that revision", SpecTimeout(timeouts.Fix), GracePeriod(timeouts.Grace), func(ctx SpecContext) {
			expectNoneRetired(ctx, mesh.GatewayStatusLeader)
		})
	})
})

// finding is the machine's copy of what a lease spec found. Its shape is an
// API: reports carry it.
type finding struct {
	Check     string           `json:"check"`
	Expected  []string         `json:"expected"`
	Source    string           `json:"source"`
	Offenders []mesh.Judgement `json:"offenders"`
	// Plan names what --fix would delete.
	Plan []string `json:"plan"`
}

// String is what the finding is for readers of JUnit's output.
func (f finding) String() string {
	var lines []string
	for _, j := range f.Offenders {
		lines = append(lines, j.GomegaString())
	}
	return strings.Join(lines, "\n")
}

func reportFinding(leases []mesh.Judgement, installation mesh.Installation) {
	f := finding{Check: CurrentSpecReport().FullText(), Expected: installation.Revisions, Source: installation.Source, Plan: orphans(leases)}
	for _, j := range leases {
		if j.Retired() {
			f.Offenders = append(f.Offenders, j)
		}
	}
	if len(f.Offenders) > 0 {
		AddReportEntry(entryFinding, f, ReportEntryVisibilityNever)
	}
}

func orphans(leases []mesh.Judgement) []string {
	var names []string
	for _, j := range leases {
		if j.Verdict == mesh.Orphaned {
			names = append(names, j.Lease.Name)
		}
	}
	return names
}

// remedy states the rule, and what may be done about those that break it. Only
// where --fix would do so is a deletion proposed.
func (e *environment) remedy(ctx context.Context, leases []mesh.Judgement) string {
	text := "Retired revisions must hold no leader-election lease: they age forever and keep\n" +
		"lease-staleness alerts firing (https://github.com/Azure/AKS/issues/5862).\n"
	names := orphans(leases)
	planes, err := e.controlPlanes.get(ctx, e.cluster.ControlPlanes)
	switch why := mesh.TargetNotRolledOut(planes, e.target); {
	case len(names) == 0:
		return text + "None of these is proven to be an orphan, so --fix keeps them. " + keptRemedy
	case e.fix:
		return text
	case err != nil:
		text += fmt.Sprintf("--fix would refuse now: the control planes cannot be read (%s).\n", mesh.Printable(err.Error()))
	case why != "":
		text += fmt.Sprintf("--fix would refuse now: the control plane of the target is not stable: %s.\n", why)
	default:
		text += fmt.Sprintf("Run again with --fix to delete %s, or\n    %s -n %s delete lease %s\n", these(len(names)), e.kubectl(), e.cluster.Namespace(), firstNames(names))
	}
	retired := 0
	for _, j := range leases {
		if j.Retired() {
			retired++
		}
	}
	if kept := retired - len(names); kept > 0 {
		text += fmt.Sprintf("--fix keeps %d that are not proven to be orphans. ", kept) + keptRemedy
	}
	return text
}

// keptRemedy is what to do about a lease that is not proven to be an orphan.
const keptRemedy = "The evidence says what speaks against it:\n" +
	"end what lives, wait until the grace is over, or delete the lease by hand if you know better\n" +
	"(docs/safety.md, \"When a lease is kept\").\n"

func these(n int) string {
	if n == 1 {
		return "it"
	}
	return fmt.Sprintf("these %d", n)
}

// firstNames lists as many names as a failure message shows.
func firstNames(names []string) string {
	if len(names) > matchers.Shown {
		return fmt.Sprintf("%s   # and %d more", strings.Join(names[:matchers.Shown], " "), len(names)-matchers.Shown)
	}
	return strings.Join(names, " ")
}
