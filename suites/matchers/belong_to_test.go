package matchers_test

import (
	"fmt"
	"testing"

	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

func TestBelongTo(t *testing.T) {
	current := judged("istio-gateway-deployment-asm-1-29", "asm-1-29", mesh.Current, "holder istiod-asm-1-29-5d9c-abcde", "revision asm-1-29 is installed")
	orphan := judged("istio-gateway-deployment-asm-1-28", "asm-1-28", mesh.Orphaned, "holder istiod-asm-1-28-5d9c-abcde (no such pod)", "it has evidence")
	alive := judged("istio-gateway-status-leader-asm-1-28", "asm-1-28", mesh.Alive, "holder none (released)", "Deployment istiod-asm-1-28 exists", "a second reason")
	unclear := judged("istio-gateway-deployment-default", "default", mesh.Unclear, "holder unknown", "it has no holder field, which istiod always writes")
	unclear.Lease.Renewed = nil

	run(t, map[string]golden{
		"some do not": {matcher: matchers.BelongTo(installation()), actual: []mesh.Judgement{orphan, current, unclear, alive}, says: `
Expected every leader-election lease
to belong to an installed revision
    asm-1-29  (ARM serviceMeshProfile of svc-westus3)
but 3 of 4 do not:
    istio-gateway-deployment-asm-1-28     revision asm-1-28, holder istiod-asm-1-28-5d9c-abcde (no such pod), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-default      revision default, holder unknown, never renewed: unclear: it has no holder field, which istiod always writes
    istio-gateway-status-leader-asm-1-28  revision asm-1-28, holder none (released), renewed 2026-07-22T10:03:00Z: alive: Deployment istiod-asm-1-28 exists; a second reason
`},
		"all do": {matcher: matchers.BelongTo(installation()), actual: []mesh.Judgement{current, current}, matches: true, says: `
Expected some leader-election lease
not to belong to an installed revision
    asm-1-29  (ARM serviceMeshProfile of svc-westus3)
but all 2 do
`},
		"two are installed": {
			matcher: matchers.BelongTo(installation(func(i *mesh.Installation) { i.Revisions = []string{"asm-1-28", "asm-1-29"} })),
			actual:  []mesh.Judgement{current}, matches: true, says: `
Expected some leader-election lease
not to belong to an installed revision
    asm-1-28, asm-1-29  (ARM serviceMeshProfile of svc-westus3)
but all 1 do
`},
		// Which leases exist depends on the Istio version.
		"there is none": {matcher: matchers.BelongTo(installation()), actual: []mesh.Judgement{}, matches: true, says: `
Expected some leader-election lease
not to belong to an installed revision
    asm-1-29  (ARM serviceMeshProfile of svc-westus3)
but all 0 do
`},
		"an error instead":     {matcher: matchers.BelongTo(installation()), actual: errNoFacts, err: true, says: "BelongTo expects a []mesh.Judgement, not *errors.errorString"},
		"one instead of all":   {matcher: matchers.BelongTo(installation()), actual: current, err: true, says: "BelongTo expects a []mesh.Judgement, not mesh.Judgement"},
		"leases not judged":    {matcher: matchers.BelongTo(installation()), actual: []mesh.Lease{}, err: true, says: "BelongTo expects a []mesh.Judgement, not []mesh.Lease"},
		"nil":                  {matcher: matchers.BelongTo(installation()), actual: nil, err: true, says: "BelongTo expects a []mesh.Judgement, not <nil>"},
		"nothing is installed": {matcher: matchers.BelongTo(installation(func(i *mesh.Installation) { i.Revisions = nil })), actual: []mesh.Judgement{current}, err: true, says: "BelongTo needs an installation with a revision; ARM serviceMeshProfile of svc-westus3 has none"},
	})
}

func TestBelongToNamesTenOffenders(t *testing.T) {
	var ten, twelve []mesh.Judgement
	for n := range 12 {
		revision := mesh.Revision(fmt.Sprintf("asm-1-%d", n))
		j := judged("istio-gateway-deployment-"+string(revision), revision, mesh.Orphaned, "holder none (released)")
		twelve = append(twelve, j)
		if n < 10 {
			ten = append(ten, j)
		}
	}
	const rule = `
Expected every leader-election lease
to belong to an installed revision
    asm-1-29  (ARM serviceMeshProfile of svc-westus3)
`
	const lines = `
    istio-gateway-deployment-asm-1-0  revision asm-1-0, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-1  revision asm-1-1, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-2  revision asm-1-2, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-3  revision asm-1-3, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-4  revision asm-1-4, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-5  revision asm-1-5, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-6  revision asm-1-6, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-7  revision asm-1-7, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-8  revision asm-1-8, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
    istio-gateway-deployment-asm-1-9  revision asm-1-9, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
`
	run(t, map[string]golden{
		"ten":    {matcher: matchers.BelongTo(installation()), actual: ten, says: rule + "but 10 of 10 do not:" + lines},
		"twelve": {matcher: matchers.BelongTo(installation()), actual: twelve, says: rule + "but 12 of 12 do not:" + lines + "    and 2 more (the report has all)"},
	})
}

func TestBelongToForgetsItsLastInput(t *testing.T) {
	m := matchers.BelongTo(installation())
	orphan := judged("istio-gateway-deployment-asm-1-28", "asm-1-28", mesh.Orphaned, "holder none (released)")
	golden := golden{matcher: m, actual: []mesh.Judgement{orphan}, says: `
Expected every leader-election lease
to belong to an installed revision
    asm-1-29  (ARM serviceMeshProfile of svc-westus3)
but 1 of 1 do not:
    istio-gateway-deployment-asm-1-28  revision asm-1-28, holder none (released), renewed 2026-07-22T10:03:00Z: orphaned
`}
	golden.check(t)
	golden.check(t)
}
