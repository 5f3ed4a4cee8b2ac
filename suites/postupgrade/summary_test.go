package postupgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
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

// counts are all that is counted, and NOT RUN where there is any.
func (s summary) counts() string {
	var parts []string
	for _, st := range states {
		if n := s.count(st); n > 0 || st != stateNotRun {
			parts = append(parts, fmt.Sprintf("%s %d", st, n))
		}
	}
	return strings.Join(parts, " · ")
}

// publish prints the summary, and writes it as Markdown to the artifacts folder
// and to $GITHUB_STEP_SUMMARY where these are given.
func (s summary) publish(console io.Writer) error {
	_, err := fmt.Fprintf(console, "\n%s\n%s\n%s\n", s.title, s.counts(), s.lines())
	errs := []error{err}
	if env.artifacts != "" {
		path := filepath.Join(env.artifacts, "summary.md")
		if err := errors.Join(os.MkdirAll(env.artifacts, 0o755), os.WriteFile(path, []byte(s.markdown()), 0o644)); err != nil {
			errs = append(errs, err)
		} else {
			_, err := fmt.Fprintf(console, "Summary: %s\n", path)
			errs = append(errs, err)
		}
	}
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		errs = append(errs, appendFile(path, s.markdown()))
	}
	return errors.Join(errs...)
}

// heading is the state and the spec of a verdict.
func (v verdict) heading() string {
	if v.warning {
		return fmt.Sprintf("%s (warning)  %s", v.state, v.spec)
	}
	return fmt.Sprintf("%s  %s", v.state, v.spec)
}

// lines has a line for each spec that did not simply pass, and what fixers did.
// The failures themselves stand above, in Ginkgo's own output, and nowhere else:
// some pipelines act on what they find in the output. Of what was skipped Ginkgo
// says nothing, so that stands here.
func (s summary) lines() string {
	return s.text(func(v verdict) bool { return v.state == stateSkipped || v.warning })
}

// markdown has the failures, too: it is all that its reader sees.
func (s summary) markdown() string {
	head := fmt.Sprintf("### %s\n\n%s\n", s.title, s.counts())
	if s.noSuccess != "" {
		head += fmt.Sprintf("\n%s\n", s.noSuccess)
	}
	text := s.text(func(v verdict) bool { return v.state != stateFixed })
	if text == "" {
		return head
	}
	return head + fmt.Sprintf("\n```text\n%s```\n", strings.ReplaceAll(strings.TrimLeft(text, "\n"), "```", "'''"))
}

// text has a paragraph for each spec that did not simply pass, with its text if
// full says so, and then what fixers did.
func (s summary) text(full func(verdict) bool) string {
	var text strings.Builder
	for _, reason := range s.ended {
		fmt.Fprintf(&text, "\nThe run ended early: %s\n", reason)
	}
	for _, v := range s.verdicts {
		if v.state == statePass {
			continue
		}
		text.WriteString("\n" + v.heading() + "\n")
		if full(v) {
			text.WriteString(indent(v.text))
		}
	}
	for _, o := range s.repairs {
		text.WriteString("\n--fix\n" + indent(outcomeText(o)))
	}
	return text.String()
}

// outcomeText is what a fixer did, object by object, and how to undo it.
func outcomeText(o fixers.Outcome) string {
	text := o.String()
	if o.RestoreFile != "" {
		text += fmt.Sprintf("\nrestore with: %s create -f %s", env.kubectl(), shellescape.Quote(o.RestoreFile))
	}
	if o.AuditFile != "" {
		text += "\naudit: " + o.AuditFile
	}
	return text
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return out.String()
}

func appendFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
