package mesh

import (
	"strconv"
	"strings"
)

// Printable returns text that came from a cluster or from ARM in a form that
// prints on one line and commands nobody: control characters are escaped, and
// the marks by which Azure Pipelines finds a command are broken.
func Printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		quoted := strconv.Quote(text)
		text = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	return strings.NewReplacer("##vso[", "# #vso[", "##[", "# #[").Replace(text)
}
