package matchers

import (
	"errors"
	"fmt"

	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// BeAPIServerOf succeeds when an API server is proven to be that of the cluster
// that i describes. aliases are further names that the user vouches for. Actual
// must be a mesh.APIServer.
func BeAPIServerOf(i mesh.Installation, aliases []string) types.GomegaMatcher {
	return gcustom.MakeMatcher(func(server mesh.APIServer) (bool, error) {
		if server.Name == "" {
			return false, errors.New("BeAPIServerOf expects an API server with a name")
		}
		return server.NotOf(i, aliases) == "", nil
	}).WithTemplate("Expected the kubeconfig and ARM {{.To}} mean the same cluster\nbut {{.Data.Why .Actual}}").
		WithTemplateData(sameCluster{i, aliases})
}

type sameCluster struct {
	installation mesh.Installation
	aliases      []string
}

// Why is called by the template, for the negated message too.
func (s sameCluster) Why(server mesh.APIServer) string {
	if why := server.NotOf(s.installation, s.aliases); why != "" {
		return why
	}
	return fmt.Sprintf("%s is the API server of %s", server.Name, s.installation.Source)
}
