package matchers_test

import (
	"fmt"
	"testing"

	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

func TestBeOfRevision(t *testing.T) {
	run(t, map[string]golden{
		"some are not": {matcher: matchers.BeOfRevision(target), actual: []mesh.ControlPlane{plane("asm-1-28"), plane(target), {Name: "istiod", Revision: "default", Desired: 1}}, says: `
Expected every istiod Deployment to be of the target
    asm-1-29
but 2 of 3 are not:
    istiod-asm-1-28  revision asm-1-28, rolled out
    istiod           revision default, not rolled out: desired 1, updated 0, ready 0, available 0, in all 0
`},
		"all are": {matcher: matchers.BeOfRevision(target), actual: []mesh.ControlPlane{plane(target)}, matches: true, says: `
Expected some istiod Deployment not to be of the target
    asm-1-29
but all 1 are
`},
		"there is none":    {matcher: matchers.BeOfRevision(target), actual: []mesh.ControlPlane{}, err: true, says: "expected control planes to judge, found no istiod Deployment: wrong cluster, or no mesh?"},
		"one instead":      {matcher: matchers.BeOfRevision(target), actual: plane(target), err: true, says: "BeOfRevision expects a []mesh.ControlPlane, not mesh.ControlPlane"},
		"an error instead": {matcher: matchers.BeOfRevision(target), actual: errNoFacts, err: true, says: "BeOfRevision expects a []mesh.ControlPlane, not *errors.errorString"},
		"nil":              {matcher: matchers.BeOfRevision(target), actual: nil, err: true, says: "BeOfRevision expects a []mesh.ControlPlane, not <nil>"},
		"eleven are not": {matcher: matchers.BeOfRevision(target), actual: planes(11), says: `
Expected every istiod Deployment to be of the target
    asm-1-29
but 11 of 11 are not:
    istiod-asm-2-0  revision asm-2-0, rolled out
    istiod-asm-2-1  revision asm-2-1, rolled out
    istiod-asm-2-2  revision asm-2-2, rolled out
    istiod-asm-2-3  revision asm-2-3, rolled out
    istiod-asm-2-4  revision asm-2-4, rolled out
    istiod-asm-2-5  revision asm-2-5, rolled out
    istiod-asm-2-6  revision asm-2-6, rolled out
    istiod-asm-2-7  revision asm-2-7, rolled out
    istiod-asm-2-8  revision asm-2-8, rolled out
    istiod-asm-2-9  revision asm-2-9, rolled out
    and 1 more (the report has all)
`},
	})
}

func TestBeOfRevisionForgetsItsLastInput(t *testing.T) {
	m := matchers.BeOfRevision(target)
	golden{matcher: m, actual: planes(2), says: `
Expected every istiod Deployment to be of the target
    asm-1-29
but 2 of 2 are not:
    istiod-asm-2-0  revision asm-2-0, rolled out
    istiod-asm-2-1  revision asm-2-1, rolled out
`}.check(t)
	golden{matcher: m, actual: []mesh.ControlPlane{plane(target)}, matches: true, says: `
Expected some istiod Deployment not to be of the target
    asm-1-29
but all 1 are
`}.check(t)
}

func TestHaveRolledOut(t *testing.T) {
	run(t, map[string]golden{
		"the target is not ready": {
			matcher: matchers.HaveRolledOut(target),
			actual:  []mesh.ControlPlane{plane("asm-1-28"), plane(target, func(c *mesh.ControlPlane) { c.Ready = 1 })},
			says: `
Expected the control plane of the target to be rolled out
    istiod-asm-1-29
but Deployment istiod-asm-1-29: desired 2, updated 2, ready 1, available 2, in all 2; found:
    istiod-asm-1-28  revision asm-1-28, rolled out
    istiod-asm-1-29  revision asm-1-29, not rolled out: desired 2, updated 2, ready 1, available 2, in all 2
`},
		"the target is not there": {matcher: matchers.HaveRolledOut(target), actual: []mesh.ControlPlane{plane("asm-1-28")}, says: `
Expected the control plane of the target to be rolled out
    istiod-asm-1-29
but no Deployment istiod-asm-1-29; found:
    istiod-asm-1-28  revision asm-1-28, rolled out
`},
		"it is": {matcher: matchers.HaveRolledOut(target), actual: []mesh.ControlPlane{plane(target), plane("asm-1-28", func(c *mesh.ControlPlane) { c.Observed = 2 })}, matches: true, says: `
Expected the control plane of the target not to be rolled out
    istiod-asm-1-29
but it is; found:
    istiod-asm-1-29  revision asm-1-29, rolled out
    istiod-asm-1-28  revision asm-1-28, not rolled out: generation 3 is not observed yet (observed: 2)
`},
		"there is none":    {matcher: matchers.HaveRolledOut(target), actual: []mesh.ControlPlane(nil), err: true, says: "expected control planes to judge, found no istiod Deployment: wrong cluster, or no mesh?"},
		"one instead":      {matcher: matchers.HaveRolledOut(target), actual: plane(target), err: true, says: "HaveRolledOut expects a []mesh.ControlPlane, not mesh.ControlPlane"},
		"an error instead": {matcher: matchers.HaveRolledOut(target), actual: errNoFacts, err: true, says: "HaveRolledOut expects a []mesh.ControlPlane, not *errors.errorString"},
		"nil":              {matcher: matchers.HaveRolledOut(target), actual: nil, err: true, says: "HaveRolledOut expects a []mesh.ControlPlane, not <nil>"},
		"twelve are found": {matcher: matchers.HaveRolledOut(target), actual: planes(12), says: `
Expected the control plane of the target to be rolled out
    istiod-asm-1-29
but no Deployment istiod-asm-1-29; found:
    istiod-asm-2-0  revision asm-2-0, rolled out
    istiod-asm-2-1  revision asm-2-1, rolled out
    istiod-asm-2-2  revision asm-2-2, rolled out
    istiod-asm-2-3  revision asm-2-3, rolled out
    istiod-asm-2-4  revision asm-2-4, rolled out
    istiod-asm-2-5  revision asm-2-5, rolled out
    istiod-asm-2-6  revision asm-2-6, rolled out
    istiod-asm-2-7  revision asm-2-7, rolled out
    istiod-asm-2-8  revision asm-2-8, rolled out
    istiod-asm-2-9  revision asm-2-9, rolled out
    and 2 more (the report has all)
`},
	})
}

func planes(n int) []mesh.ControlPlane {
	var all []mesh.ControlPlane
	for i := range n {
		all = append(all, plane(mesh.Revision(fmt.Sprintf("asm-2-%d", i))))
	}
	return all
}
