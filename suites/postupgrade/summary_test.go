package postupgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
)

// states are in the order in which the summary counts them.
var states = []state{statePass, stateFixed, stateFail, stateRefused, stateUnverified, stateSkipped}

// verdict is one spec in the summary.
type verdict struct {
	spec    string
	state   state
	warning bool // --advisory made it one
	// text is the failure or the reason of a skip.
	text    string
	outcome *fixers.Outcome
}

type summary struct {
	title    string
	verdicts []verdict
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
	for _, spec := range report.SpecReports.WithLeafNodeType(types.NodeTypeIt) {
		// Specs that a filter left out have no start time and no reason.
		if spec.State == types.SpecStatePending || (spec.State == types.SpecStateSkipped && spec.Failure.Message == "") {
			continue
		}
		s.verdicts = append(s.verdicts, verdictOf(spec))
	}
	return s
}

func verdictOf(spec types.SpecReport) verdict {
	v := verdict{spec: spec.FullText(), text: spec.Failure.Message}
	unverified := false
	for _, entry := range spec.ReportEntries {
		switch entry.Name {
		case entryOutcome:
			v.outcome = outcomeOf(entry)
		case entryUnverified:
			unverified = true
		case entryWarning:
			v.warning = true
		}
	}
	switch {
	case spec.State.Is(types.SpecStatePassed) && v.outcome != nil:
		v.state = stateFixed
	case spec.State.Is(types.SpecStatePassed):
		v.state = statePass
	case spec.State.Is(types.SpecStateSkipped) && !v.warning:
		v.state = stateSkipped
	case unverified:
		v.state = stateUnverified
	case v.outcome != nil && len(v.outcome.Refused) > 0:
		v.state = stateRefused
	default:
		v.state = stateFail
	}
	return v
}

// outcomeOf reads an outcome back. From another process of a parallel run, it
// comes as decoded JSON.
func outcomeOf(entry types.ReportEntry) *fixers.Outcome {
	var outcome fixers.Outcome
	text, err := json.Marshal(entry.GetRawValue())
	if err == nil {
		err = json.Unmarshal(text, &outcome)
	}
	if err != nil {
		outcome.Error = fmt.Sprintf("the outcome cannot be read back: %v", err)
	}
	return &outcome
}

func (s summary) counts() string {
	var parts []string
	for _, st := range states {
		n := 0
		for _, v := range s.verdicts {
			if v.state == st {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%s %d", st, n))
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
		errs = append(errs, os.MkdirAll(env.artifacts, 0o755), os.WriteFile(path, []byte(s.markdown()), 0o644))
		_, err := fmt.Fprintf(console, "Summary: %s\n", path)
		errs = append(errs, err)
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

// lines has a line for each spec that did not simply pass, and what a fixer
// did. The failures themselves stand above, in Ginkgo's own output, and nowhere
// else: some pipelines act on what they find in the output.
func (s summary) lines() string {
	var text strings.Builder
	for _, v := range s.verdicts {
		if v.state == statePass {
			continue
		}
		text.WriteString("\n" + v.heading() + "\n")
		switch {
		case v.outcome != nil:
			text.WriteString(indent(outcomeText(*v.outcome)))
		case v.state == stateSkipped:
			text.WriteString(indent(v.text))
		}
	}
	return text.String()
}

// markdown has the failures, too: it is all that its reader sees.
func (s summary) markdown() string {
	var text strings.Builder
	for _, v := range s.verdicts {
		if v.state == statePass {
			continue
		}
		text.WriteString(v.heading() + "\n")
		if v.outcome != nil {
			text.WriteString(indent(outcomeText(*v.outcome)))
		}
		if v.state != stateFixed {
			text.WriteString(indent(v.text))
		}
		text.WriteString("\n")
	}
	return fmt.Sprintf("### %s\n\n%s\n\n```text\n%s```\n", s.title, s.counts(), strings.ReplaceAll(text.String(), "```", "'''"))
}

// outcomeText is what a fixer did, object by object, and how to undo it.
func outcomeText(o fixers.Outcome) string {
	var lines []string
	for _, reason := range o.Refused {
		lines = append(lines, "refused: "+reason)
	}
	for _, r := range o.Results {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", r.Object, r.Action, r.Why))
	}
	if o.Error != "" {
		lines = append(lines, "error: "+o.Error)
	}
	if o.RestoreFile != "" {
		lines = append(lines, "restore with: kubectl create -f "+o.RestoreFile)
	}
	if o.AuditFile != "" {
		lines = append(lines, "audit: "+o.AuditFile)
	}
	return strings.Join(lines, "\n")
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
