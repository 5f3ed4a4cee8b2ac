package matchers

import (
	"errors"
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// Meet succeeds when an installation meets one of the conditions of a settled
// mesh, after an upgrade to target. Actual must be a mesh.Installation.
func Meet(c mesh.Condition, target mesh.Revision) types.GomegaMatcher {
	return &meet{condition: c, target: target}
}

type meet struct {
	condition mesh.Condition
	target    mesh.Revision
	source    string
	why       string
}

func (m *meet) Match(actual any) (bool, error) {
	i, ok := actual.(mesh.Installation)
	if !ok {
		return false, fmt.Errorf("Meet expects a mesh.Installation, not %T", actual)
	}
	if i.Source == "" {
		return false, errors.New("Meet expects an installation that was read from somewhere; this one names no source")
	}
	m.source, m.why = i.Source, i.Unmet(m.condition, m.target)
	return m.why == "", nil
}

func (m *meet) FailureMessage(any) string {
	return fmt.Sprintf("Expected the mesh to be settled: %s\n    after the upgrade to %s, by %s\nbut %s", m.condition, m.target, m.source, m.why)
}

func (m *meet) NegatedFailureMessage(any) string {
	return fmt.Sprintf("Expected the mesh not to be settled: %s\n    after the upgrade to %s, by %s\nbut it is", m.condition, m.target, m.source)
}
