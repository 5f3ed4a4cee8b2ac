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

var _ = Describe("Leader election", Label(labelLeases, labelFixable), SpecPriority(-1), func() {
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
				g.Expect(leases).To(matchers.BelongTo(installation), func() string { return remedy(leases) })
			})
		}

		It("keeps no istio-gateway-deployment lease of that revision", SpecTimeout(timeouts.Fix), func(ctx SpecContext) {
			expectNoneRetired(ctx, mesh.GatewayDeployment)
		})

		It("keeps no istio-gateway-status-leader lease of that revision", SpecTimeout(timeouts.Fix), func(ctx SpecContext) {
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

// remedy states the rule, and what may be done about those that break it.
func remedy(leases []mesh.Judgement) string {
	text := "Retired revisions must hold no leader-election lease: they age forever and keep\n" +
		"lease-staleness alerts firing (https://github.com/Azure/AKS/issues/5862).\n"
	names := orphans(leases)
	if len(names) == 0 {
		return text + "None of these is proven to be an orphan, so --fix keeps them: see the evidence below.\n"
	}
	text += fmt.Sprintf("Run again with --fix to delete these %d, or\n    kubectl -n %s delete lease %s", len(names), env.cluster.Namespace(), strings.Join(names, " "))
	retired := 0
	for _, j := range leases {
		if j.Retired() {
			retired++
		}
	}
	if kept := retired - len(names); kept > 0 {
		text += fmt.Sprintf("\n--fix keeps the other %d: see the evidence below.", kept)
	}
	return text + "\n"
}
