package matchers

import (
	"errors"
	"fmt"

	"github.com/onsi/gomega/types"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// HaveRolledOut succeeds when the istiod Deployment of revision r is among the
// control planes and is rolled out. Actual must be a []mesh.ControlPlane; none
// at all is an error.
func HaveRolledOut(r mesh.Revision) types.GomegaMatcher {
	return &haveRolledOut{revision: r}
}

type haveRolledOut struct {
	revision mesh.Revision
	planes   []string
	why      string
}

func (m *haveRolledOut) Match(actual any) (bool, error) {
	planes, err := controlPlanes("HaveRolledOut", actual)
	if err != nil {
		return false, err
	}
	m.planes = lines(planes)
	m.why = mesh.TargetNotRolledOut(planes, m.revision)
	return m.why == "", nil
}

func (m *haveRolledOut) FailureMessage(any) string {
	return fmt.Sprintf("Expected the control plane of the target to be rolled out\n    istiod-%s\nbut %s; found:", m.revision, m.why) + block(m.planes)
}

func (m *haveRolledOut) NegatedFailureMessage(any) string {
	return fmt.Sprintf("Expected the control plane of the target not to be rolled out\n    istiod-%s\nbut it is; found:", m.revision) + block(m.planes)
}

// controlPlanes checks the input that the matchers over control planes share.
func controlPlanes(matcher string, actual any) ([]mesh.ControlPlane, error) {
	planes, ok := actual.([]mesh.ControlPlane)
	if !ok {
		return nil, fmt.Errorf("%s expects a []mesh.ControlPlane, not %T", matcher, actual)
	}
	if len(planes) == 0 {
		return nil, errors.New("expected control planes to judge, found no istiod Deployment: wrong cluster, or no mesh?")
	}
	return planes, nil
}

func lines(planes []mesh.ControlPlane) []string {
	var all []string
	for _, c := range planes {
		all = append(all, c.GomegaString())
	}
	return all
}
