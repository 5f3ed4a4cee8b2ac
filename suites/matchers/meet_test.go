package matchers_test

import (
	"testing"

	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

func TestMeet(t *testing.T) {
	run(t, map[string]golden{
		"not provisioned": {
			matcher: matchers.Meet(mesh.Provisioned, target),
			actual:  installation(func(i *mesh.Installation) { i.ProvisioningState = "Updating" }),
			says: `
Expected the mesh to be settled: provisioning has succeeded
    after the upgrade to asm-1-29, by ARM serviceMeshProfile of svc-westus3
but provisioning state is Updating
`},
		"upgrading": {
			matcher: matchers.Meet(mesh.NotUpgrading, target),
			actual:  installation(func(i *mesh.Installation) { i.UpgradeInProgress = "ARM answered 409" }),
			says: `
Expected the mesh to be settled: no mesh upgrade is in progress
    after the upgrade to asm-1-29, by ARM serviceMeshProfile of svc-westus3
but ARM answered 409
`},
		"two revisions": {
			matcher: matchers.Meet(mesh.OneRevision, target),
			actual:  installation(func(i *mesh.Installation) { i.Revisions = []string{"asm-1-28", "asm-1-29"} }),
			says: `
Expected the mesh to be settled: exactly one revision is installed
    after the upgrade to asm-1-29, by ARM serviceMeshProfile of svc-westus3
but ARM lists asm-1-28, asm-1-29
`},
		"another revision": {
			matcher: matchers.Meet(mesh.OnTarget, target),
			actual:  installation(func(i *mesh.Installation) { i.Revisions = []string{"asm-1-28"} }),
			says: `
Expected the mesh to be settled: the target revision is installed
    after the upgrade to asm-1-29, by ARM serviceMeshProfile of svc-westus3
but asm-1-29 is not installed: ARM lists asm-1-28
`},
		"no mesh": {
			matcher: matchers.Meet(mesh.OnTarget, target),
			actual:  mesh.Installation{Source: "ARM serviceMeshProfile of svc-westus3"},
			says: `
Expected the mesh to be settled: the target revision is installed
    after the upgrade to asm-1-29, by ARM serviceMeshProfile of svc-westus3
but asm-1-29 is not installed: ARM lists no service mesh profile
`},
		"it is": {matcher: matchers.Meet(mesh.OnTarget, target), actual: installation(), matches: true, says: `
Expected the mesh not to be settled: the target revision is installed
    after the upgrade to asm-1-29, by ARM serviceMeshProfile of svc-westus3
but it is
`},
		"nothing was read":  {matcher: matchers.Meet(mesh.NotUpgrading, target), actual: mesh.Installation{}, err: true, says: "Meet expects an installation that was read from somewhere; this one names no source"},
		"a pointer instead": {matcher: matchers.Meet(mesh.NotUpgrading, target), actual: new(installation()), err: true, says: "Meet expects a mesh.Installation, not *mesh.Installation"},
		"an error instead":  {matcher: matchers.Meet(mesh.NotUpgrading, target), actual: errNoFacts, err: true, says: "Meet expects a mesh.Installation, not *errors.errorString"},
		"nil":               {matcher: matchers.Meet(mesh.NotUpgrading, target), actual: nil, err: true, says: "Meet expects a mesh.Installation, not <nil>"},
	})
}
