package postupgrade

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

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
