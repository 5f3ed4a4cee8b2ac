package mesh_test

import (
	"strings"
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

// What a cluster or ARM says is printed as data, wherever it is printed.
func TestFactsCommandNobody(t *testing.T) {
	const command = "x\n##vso[task.complete result=Succeeded;]"
	i := settled()
	i.Revisions, i.APIServerNames = []string{command}, []string{command}
	said := append(i.Unsettled(target), mesh.APIServer{Name: "api.example.com"}.NotOf(i, nil))
	for _, j := range mesh.Judge(mesh.World{
		Installation: settled(), Target: target,
		Leases: []mesh.Lease{{Name: "istio-gateway-deployment-asm-1-28", Election: mesh.GatewayDeployment, Revision: "asm-1-28", Holder: new(command), Owners: []string{command}, Finalizers: []string{command}, Writers: []mesh.Writer{{Manager: command}}}},
		Life:   mesh.Life{Complete: true, Pods: map[string]string{command: command}, Signs: []mesh.Sign{{Revision: "asm-1-28", What: "pod x (phase " + command + ")"}}},
	}) {
		said = append(said, j.GomegaString())
	}
	for _, text := range said {
		if strings.Contains(text, "##vso[") || strings.Contains(text, "\n") {
			t.Errorf("%q", text)
		}
	}
}

func TestPrintableCutsWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	if text := mesh.Printable("x" + long); len(text) > 1100 || !strings.HasSuffix(text, "ü … (2097153 bytes)") {
		t.Errorf("%d bytes: %.50s…%s", len(text), text, text[max(0, len(text)-30):])
	}
}
