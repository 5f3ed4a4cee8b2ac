package matchers

import (
	"fmt"
	"strings"
)

// Shown is how many offenders a message names one by one.
const Shown = 10

// block lists facts one per line, their names aligned. Each is a name, two
// spaces, and what there is to say of it.
func block(facts []string) string {
	width := 0
	for _, f := range facts[:min(Shown, len(facts))] {
		name, _, _ := strings.Cut(f, "  ")
		width = max(width, len(name))
	}
	var text strings.Builder
	for i, f := range facts {
		if i == Shown {
			fmt.Fprintf(&text, "\n    and %d more (the report has all)", len(facts)-Shown)
			break
		}
		name, rest, _ := strings.Cut(f, "  ")
		fmt.Fprintf(&text, "\n    %-*s  %s", width, name, rest)
	}
	return text.String()
}
