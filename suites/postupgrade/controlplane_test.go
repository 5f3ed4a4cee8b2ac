package postupgrade

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

var _ = Describe("The control plane", Label(labelStability), func() {
	It("of the target is rolled out", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		Expect(env.readControlPlanes(ctx)).To(matchers.HaveRolledOut(env.target),
			"The target's istiod must be rolled out, or proxies have no stable control plane.\n"+
				"Look at it with: %s -n %s get deployments,pods,events\n", env.kubectl(), env.cluster.Namespace())
	})

	It("is of no other revision", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		Expect(env.readControlPlanes(ctx)).To(matchers.BeOfRevision(env.target),
			"No istiod of another revision may remain in %s after the upgrade.\n"+
				"On AKS the add-on removes it when the upgrade completes; no automatic repair. Where the\n"+
				"target is not rolled out, it may be the only control plane there is: do not delete it.\n", env.cluster.Namespace())
	})
})
