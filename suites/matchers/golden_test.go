package matchers_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// golden is what a matcher says of one input. Texts are compared as a whole.
type golden struct {
	matcher types.GomegaMatcher
	actual  any
	matches bool
	// says is the message of To when it does not match, of NotTo when it does,
	// or the error.
	says string
	err  bool
}

func (want golden) check(t *testing.T) {
	t.Helper()
	matches, err := want.matcher.Match(want.actual)
	var says string
	switch {
	case err != nil:
		says = err.Error()
	case matches:
		says = want.matcher.NegatedFailureMessage(want.actual)
	default:
		says = want.matcher.FailureMessage(want.actual)
	}
	if matches != want.matches || (err != nil) != want.err {
		t.Errorf("matches %v, error %v; want %v, and an error: %v", matches, err, want.matches, want.err)
	}
	if says != strings.TrimSpace(want.says) {
		t.Errorf("it says\n%s\nwant\n%s", says, strings.TrimSpace(want.says))
	}
	for line := range strings.Lines(says) {
		if trimmed := strings.TrimSuffix(line, "\n"); strings.TrimRight(trimmed, " ") != trimmed {
			t.Errorf("blanks at the end of %q", line)
		}
	}
}

func run(t *testing.T, table map[string]golden) {
	t.Helper()
	for name, want := range table {
		t.Run(name, want.check)
	}
}

// errNoFacts is what somebody hands to a matcher who forgot to look at it.
var errNoFacts = errors.New("list leases: forbidden")

const target = mesh.Revision("asm-1-29")

func installation(modifiers ...func(*mesh.Installation)) mesh.Installation {
	i := mesh.Installation{
		Source: "ARM serviceMeshProfile of svc-westus3", ProvisioningState: "Succeeded", PowerState: "Running", MeshMode: "Istio",
		Revisions: []string{"asm-1-29"}, APIServerNames: []string{"svc.hcp.westus3.azmk8s.io"},
	}
	for _, modify := range modifiers {
		modify(&i)
	}
	return i
}

// plane is a control plane that is rolled out, but for what modifiers change.
func plane(revision mesh.Revision, modifiers ...func(*mesh.ControlPlane)) mesh.ControlPlane {
	c := mesh.ControlPlane{Name: "istiod-" + string(revision), Revision: revision, Generation: 3, Observed: 3, Desired: 2, Updated: 2, Ready: 2, Available: 2, Total: 2}
	for _, modify := range modifiers {
		modify(&c)
	}
	return c
}

func judged(name string, revision mesh.Revision, verdict mesh.Verdict, holder string, evidence ...string) mesh.Judgement {
	renewed := time.Date(2026, 7, 22, 12, 3, 0, 0, time.FixedZone("two hours east", 2*60*60))
	return mesh.Judgement{Lease: mesh.Lease{Name: name, Revision: revision, Renewed: &renewed}, Verdict: verdict, Holder: holder, Evidence: evidence}
}
