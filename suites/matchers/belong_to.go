package matchers

import (
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// BelongTo succeeds when each of the judged election leases belongs to an
// installed revision of i or to the target. Actual must be a
// []mesh.Judgement. None at all succeeds: which leases exist depends on the
// Istio version.
func BelongTo(i mesh.Installation) types.GomegaMatcher {
	return &belongTo{installation: i}
}

type belongTo struct {
	installation mesh.Installation
	judged       int
	retired      []string
}

func (m *belongTo) Match(actual any) (bool, error) {
	judgements, ok := actual.([]mesh.Judgement)
	if !ok {
		return false, fmt.Errorf("BelongTo expects a []mesh.Judgement, not %T", actual)
	}
	if len(m.installation.Revisions) == 0 {
		return false, fmt.Errorf("BelongTo needs an installation with a revision; %s has none", m.installation.Source)
	}
	m.judged, m.retired = len(judgements), nil
	for _, j := range judgements {
		if j.Retired() {
			m.retired = append(m.retired, j.GomegaString())
		}
	}
	return len(m.retired) == 0, nil
}

func (m *belongTo) FailureMessage(any) string {
	return m.rule("every") + fmt.Sprintf("\nbut %d of %d do not:", len(m.retired), m.judged) + block(m.retired)
}

func (m *belongTo) NegatedFailureMessage(any) string {
	return m.rule("some") + fmt.Sprintf("\nbut all %d do", m.judged)
}

func (m *belongTo) rule(quantity string) string {
	negation := ""
	if quantity == "some" {
		negation = "not "
	}
	installed := fmt.Sprintf("%s  (%s)", strings.Join(m.installation.Revisions, ", "), m.installation.Source)
	return fmt.Sprintf("Expected %s leader-election lease\n%sto belong to an installed revision", quantity, negation) + block([]string{installed})
}
