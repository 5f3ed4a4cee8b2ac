package matchers_test

import (
	"testing"

	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

func TestBeAPIServerOf(t *testing.T) {
	aliases := []string{"10.0.0.4"}
	run(t, map[string]golden{
		"it is another": {matcher: matchers.BeAPIServerOf(installation(), aliases), actual: mesh.APIServer{Name: "other.hcp.westus3.azmk8s.io"}, says: `
Expected the kubeconfig and ARM to mean the same cluster
but the kubeconfig leads to the API server other.hcp.westus3.azmk8s.io, which is none of those that ARM names: svc.hcp.westus3.azmk8s.io; nor one that the user vouches for: 10.0.0.4
`},
		"it is not proven": {matcher: matchers.BeAPIServerOf(installation(), nil), actual: mesh.APIServer{Name: "svc.hcp.westus3.azmk8s.io", Unproven: "insecure-skip-tls-verify is set"}, says: `
Expected the kubeconfig and ARM to mean the same cluster
but the kubeconfig does not make the API server svc.hcp.westus3.azmk8s.io prove its name: insecure-skip-tls-verify is set
`},
		"ARM names none": {matcher: matchers.BeAPIServerOf(installation(func(i *mesh.Installation) { i.APIServerNames = nil }), nil), actual: mesh.APIServer{Name: "10.0.0.4"}, says: `
Expected the kubeconfig and ARM to mean the same cluster
but the kubeconfig leads to the API server 10.0.0.4, which is none of those that ARM names: none
`},
		"it is": {matcher: matchers.BeAPIServerOf(installation(), nil), actual: mesh.APIServer{Name: "svc.hcp.westus3.azmk8s.io"}, matches: true, says: `
Expected the kubeconfig and ARM not to mean the same cluster
but svc.hcp.westus3.azmk8s.io is the API server of ARM serviceMeshProfile of svc-westus3
`},
		"it is by an alias": {matcher: matchers.BeAPIServerOf(installation(), aliases), actual: mesh.APIServer{Name: "10.0.0.4"}, matches: true, says: `
Expected the kubeconfig and ARM not to mean the same cluster
but 10.0.0.4 is the API server of ARM serviceMeshProfile of svc-westus3
`},
		"without a name": {matcher: matchers.BeAPIServerOf(installation(), []string{""}), actual: mesh.APIServer{}, err: true, says: "BeAPIServerOf expects an API server with a name"},
		"a name instead": {matcher: matchers.BeAPIServerOf(installation(), nil), actual: "svc.hcp.westus3.azmk8s.io", err: true, says: `
Matcher expected actual of type <mesh.APIServer>.  Got:
    <string>: svc.hcp.westus3.azmk8s.io
`},
		"an error instead": {matcher: matchers.BeAPIServerOf(installation(), nil), actual: 7, err: true, says: `
Matcher expected actual of type <mesh.APIServer>.  Got:
    <int>: 7
`},
	})
}
