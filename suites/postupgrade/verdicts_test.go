package postupgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/suites/hook"
)

// Names of the report entries by which a verdict travels into Ginkgo's JUnit
// and JSON reports, and into our summary.
const (
	// entryFinding has a finding.
	entryFinding = "finding"
	// entryOutcome has a fixers.Outcome: the part of it that is the spec's own.
	entryOutcome = "outcome"
	// entryRepair has all of a fixers.Outcome, on the spec that called the fixer.
	entryRepair = "repair"
	// entryNotJudged marks a spec that was skipped because its cluster is not in
	// a state, or not the one, to be judged.
	entryNotJudged = "not judged"
	// entryUnverified has the reason for which nothing could be judged.
	entryUnverified = "unverified"
	// entryWarning has the failure that --advisory made a warning.
	entryWarning = "warning"
)

// fail ends the spec as failed, or with --advisory as skipped with a warning.
func fail(message string, callerSkip ...int) {
	skip := 1
	if len(callerSkip) > 0 {
		skip += callerSkip[0]
	}
	if env.advisory {
		AddReportEntry(entryWarning, message, ReportEntryVisibilityNever)
		Skip("WARNING (--advisory)\n"+message, skip)
	}
	Fail(message, skip)
}

// couldNotVerify ends the spec because what it judges could not be read. That
// is never a finding, and never calls a fixer.
func couldNotVerify(what string, err error) {
	GinkgoHelper()
	message := fmt.Sprintf("Could not verify %s: %s", what, mesh.Printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
	AddReportEntry(entryUnverified, message, ReportEntryVisibilityNever)
	fail(message)
}

// expectOrFix makes the assertions in check. When one that is made through g
// fails and --fix was given, it calls fix, records the outcome as a report
// entry, and makes them once more, for good, on a cluster that is read again.
// Nothing else that ends a spec (a panic, a time-out, an interrupt, an error
// while reading) calls a fixer.
func expectOrFix(ctx context.Context, fix func(context.Context) (fixers.Outcome, error), check func(g Gomega, e *environment)) {
	GinkgoHelper()
	failure := hook.Attempt(func(g Gomega) { check(g, env) })
	switch {
	case failure == "":
		return
	case !env.fix:
		fail(failure)
	}
	By("fixing what the assertion found")
	outcome, err := fix(ctx)
	AddReportEntry(entryOutcome, outcome, ReportEntryVisibilityNever)
	// What came back fails whatever called the fixer: a revision lives that was
	// called retired.
	if errors.Is(err, fixers.ErrRefused) || errors.Is(err, fixers.ErrCameBack) || outcome.Error != "" {
		fail(failure + "\n\n" + whatFixDid(outcome))
	}
	again := func() {
		GinkgoHelper()
		if remaining := hook.Attempt(func(g Gomega) { check(g, env.afresh()) }); remaining != "" {
			fail(remaining + "\n\n" + whatFixDid(outcome))
		}
	}
	again()
	if !repaired(outcome) {
		By("waiting for what somebody else has deleted to come back")
		select {
		case <-time.After(leases.DefaultRecreationWait):
			again()
		case <-ctx.Done():
			couldNotVerify("that what somebody else has deleted stays away", context.Cause(ctx))
		}
	}
}

// repaired reports whether the fixer itself has seen to it that something is
// gone, and stays away.
func repaired(o fixers.Outcome) bool { return o.Count(fixers.Deleted)+o.Count(fixers.AlreadyGone) > 0 }

// whatFixDid says why something is left, after --fix.
func whatFixDid(o fixers.Outcome) string {
	text := "What --fix did:"
	if len(o.Refused) > 0 {
		text = "--fix was refused and deleted nothing:"
	}
	return text + "\n" + strings.TrimRight(indent(o.String()), "\n")
}
