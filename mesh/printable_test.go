package mesh_test

import (
	"testing"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"istiod-asm-1-28-a-b":                "istiod-asm-1-28-a-b",
		`is "no" revision`:                   `is "no" revision`,
		"a\nPASS 10 · FIXED 0":               `a\nPASS 10 · FIXED 0`,
		"\x1b[2J\r::error::x":                `\x1b[2J\r::error::x`,
		"x##vso[task.complete]##[error]done": "x# #vso[task.complete]# #[error]done",
		"":                                   "",
	} {
		if got := mesh.Printable(text); got != want {
			t.Errorf("Printable(%q) = %q, want %q", text, got, want)
		}
	}
}
