package mesh

import (
	"fmt"
	"strconv"
	"strings"
)

// longest is the number of bytes from which on a text is cut: one value of a
// megabyte would fill a pipeline's summary.
const longest = 1000

// Printable returns text that came from a cluster or from ARM in a form that
// prints on one line and commands nobody: control characters are escaped, the
// marks by which Azure Pipelines finds a command are broken, and what is longer
// than a message should be is cut.
func Printable(text string) string {
	if len(text) > longest {
		text = fmt.Sprintf("%s … (%d bytes)", strings.ToValidUTF8(text[:longest], ""), len(text))
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		quoted := strconv.Quote(text)
		text = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	return strings.NewReplacer("##vso[", "# #vso[", "##[", "# #[").Replace(text)
}
