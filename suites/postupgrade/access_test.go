package postupgrade

import (
	"context"
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

var _ = Describe("Access", Label(labelAccess), SpecPriority(1), func() {
	It("includes every permission that the chosen mode needs", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		needed := env.cluster.ReadPermissions()
		if env.fix {
			needed = append(needed, env.cluster.DeletePermissions()...)
		}
		reading, cancel := context.WithTimeout(ctx, timeouts.Read)
		defer cancel()
		missing, err := env.cluster.Missing(reading, needed)
		if err != nil {
			couldNotVerify("this identity's permissions", err)
		}
		var rules []string
		for _, p := range missing {
			rules = append(rules, p.String())
		}
		if len(rules) > 0 {
			fail("This identity lacks permissions on the cluster. Add these rules (see docs/permissions):\n    " + strings.Join(rules, "\n    "))
		}
	})

	It("leads to the cluster that ARM describes", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		installation := env.readInstallation(ctx)
		Expect(env.cluster.APIServer()).To(matchers.BeAPIServerOf(installation, env.apiServerNames),
			"A verdict on one cluster by the facts of another is worthless: nothing was judged by it, and --fix deletes nothing.\n"+
				"Use the kubeconfig of the cluster in --cluster-id, over https and without insecure-skip-tls-verify;\n"+
				"where its API server has a name that ARM does not list, vouch for it with --api-server-name.\n")
		// A name is proven only by a server that answers; a refusal is an answer.
		_, err := env.controlPlanes.get(ctx, env.cluster.ControlPlanes)
		var status apierrors.APIStatus
		if err != nil && !errors.As(err, &status) {
			couldNotVerify("that the API server is the one that ARM describes", err)
		}
	})
})
