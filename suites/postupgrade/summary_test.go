package postupgrade

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

// state is how a person reads the end of a spec.
type state string

const (
	statePass       state = "PASS"
	stateFixed      state = "FIXED"
	stateFail       state = "FAIL"
	stateRefused    state = "REFUSED"    // found, --fix was given, the fixer refused
	stateUnverified state = "UNVERIFIED" // could not be read: never a pass
	stateSkipped    state = "SKIPPED"
	stateNotRun     state = "NOT RUN" // a filter left it out, or the run ended before it
)

// states are in the order in which the summary counts them.
var states = []state{statePass, stateFixed, stateFail, stateRefused, stateUnverified, stateSkipped, stateNotRun}

// verdict is one spec in the summary.
type verdict struct {
	spec    string
	state   state
	warning bool // --advisory made it one
	// text is the failure or the reason of a skip.
	text string
	// notJudged is true when the cluster forbade a verdict.
	notJudged bool
}

type summary struct {
	title    string
	verdicts []verdict
	// ended is why the run ended early; empty when it did not.
	ended []string
	// repairs are the outcomes of fixers.
	repairs []fixers.Outcome
	// noSuccess is why a run without a failure is none; empty when it is one.
	noSuccess string
}

// summarize reads the verdicts out of Ginkgo's report, which in a parallel run
// is all that is known of the other processes.
func summarize(report types.Report) summary {
	mode := "read-only"
	if env.fix {
		mode = "--fix"
	}
	if env.advisory {
		mode += ", --advisory"
	}
	s := summary{title: fmt.Sprintf("mesh-postflight: %s after the upgrade to %s (%s)", env.id.Name, env.target, mode)}
	s.ended = report.SpecialSuiteFailureReasons
	for _, spec := range report.SpecReports.WithLeafNodeType(types.NodeTypeIt) {
		s.verdicts = append(s.verdicts, verdictOf(spec))
		for _, entry := range spec.ReportEntries {
			if entry.Name == entryRepair {
				s.repairs = append(s.repairs, outcomeOf(entry))
			}
		}
	}
	switch {
	case s.verified() == 0:
		s.noSuccess = "No spec was run, so nothing was verified: see --ginkgo.label-filter, --ginkgo.focus and --ginkgo.skip"
	case report.SuiteSucceeded && s.unrepaired():
		// A filter has left out the spec that fails for it.
		s.noSuccess = "The fixer could not delete everything that it set out to delete: that is no success"
	case report.SuiteSucceeded && s.notJudged():
		// A filter has left out the spec that fails for the same reason.
		s.noSuccess = "Some specs were skipped because the cluster is not in a state, or not the one, to be judged: that is no success"
	}
	return s
}

func verdictOf(spec types.SpecReport) verdict {
	v := verdict{spec: spec.FullText(), text: spec.Failure.Message}
	var unverified bool
	var outcome *fixers.Outcome
	for _, entry := range spec.ReportEntries {
		switch entry.Name {
		case entryOutcome:
			o := outcomeOf(entry)
			outcome = &o
		case entryUnverified:
			unverified = true
		case entryWarning:
			v.warning = true
		case entryNotJudged:
			v.notJudged = true
		}
	}
	switch {
	case spec.State.Is(types.SpecStatePassed) && outcome != nil && repaired(*outcome):
		v.state = stateFixed
	case spec.State.Is(types.SpecStatePassed):
		v.state = statePass
	case spec.State.Is(types.SpecStatePending), spec.State.Is(types.SpecStateSkipped) && v.text == "":
		v.state = stateNotRun
	case spec.State.Is(types.SpecStateSkipped) && !v.warning:
		v.state = stateSkipped
	case unverified:
		v.state = stateUnverified
	case outcome != nil && len(outcome.Refused) > 0:
		v.state = stateRefused
	default:
		v.state = stateFail
	}
	return v
}

// verified counts the specs that were run.
func (s summary) verified() int { return len(s.verdicts) - s.count(stateNotRun) }

func (s summary) notJudged() bool {
	return slices.ContainsFunc(s.verdicts, func(v verdict) bool { return v.notJudged })
}

// unrepaired reports whether a fixer left something that it should have deleted.
func (s summary) unrepaired() bool {
	return slices.ContainsFunc(s.repairs, func(o fixers.Outcome) bool {
		return o.Count(fixers.Failed)+o.Count(fixers.NotTried)+o.Count(fixers.CameBack) > 0
	})
}

func (s summary) count(st state) int {
	n := 0
	for _, v := range s.verdicts {
		if v.state == st {
			n++
		}
	}
	return n
}

// outcomeOf reads an outcome back. From another process of a parallel run, it
// comes as decoded JSON.
func outcomeOf(entry types.ReportEntry) fixers.Outcome {
	var outcome fixers.Outcome
	text, err := json.Marshal(entry.GetRawValue())
	if err == nil {
		err = json.Unmarshal(text, &outcome)
	}
	if err != nil {
		outcome.Error = fmt.Sprintf("the outcome cannot be read back: %v", err)
	}
	return outcome
}
