package matchers

import (
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// BeOfRevision succeeds when every control plane is one of revision r. Actual
// must be a []mesh.ControlPlane; none at all is an error.
func BeOfRevision(r mesh.Revision) types.GomegaMatcher {
	return &beOfRevision{revision: r}
}

type beOfRevision struct {
	revision mesh.Revision
	judged   int
	others   []mesh.ControlPlane
}

func (m *beOfRevision) Match(actual any) (bool, error) {
	planes, err := controlPlanes("BeOfRevision", actual)
	if err != nil {
		return false, err
	}
	m.judged, m.others = len(planes), nil
	for _, c := range planes {
		if c.Revision != m.revision {
			m.others = append(m.others, c)
		}
	}
	return len(m.others) == 0, nil
}

func (m *beOfRevision) FailureMessage(any) string {
	return fmt.Sprintf("Expected every istiod Deployment to be of the target\n    %s\nbut %d of %d are not:", m.revision, len(m.others), m.judged) + block(lines(m.others))
}

func (m *beOfRevision) NegatedFailureMessage(any) string {
	return fmt.Sprintf("Expected some istiod Deployment not to be of the target\n    %s\nbut all %d are", m.revision, m.judged)
}
