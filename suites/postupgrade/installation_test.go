package postupgrade

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/suites/matchers"
)

var _ = Describe("The mesh's installation", Label(labelStability), func() {
	expectMet := func(ctx SpecContext, c mesh.Condition, remedy string) {
		GinkgoHelper()
		Expect(env.readInstallation(ctx)).To(matchers.Meet(c, env.target), remedy+"\n")
	}

	It("has been provisioned", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		expectMet(ctx, mesh.Provisioned,
			"An operation on the cluster must end, and succeed, before the mesh is judged.\n"+
				"Wait for it, or look at it with: "+env.az("aks show")+"\nRun this again when the provisioning state is Succeeded.")
	})

	It("has no upgrade in progress", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		expectMet(ctx, mesh.NotUpgrading,
			"A mesh upgrade must be completed or rolled back before a revision counts as retired.\n"+
				"Finish it with: "+env.az("aks mesh upgrade complete")+"\n"+
				"or end it with: "+env.az("aks mesh upgrade rollback"))
	})

	It("is exactly one revision", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		expectMet(ctx, mesh.OneRevision,
			"After an upgrade exactly one revision must be installed.\n"+
				"With none, the mesh add-on is off. With two, finish the upgrade: "+env.az("aks mesh upgrade complete")+"\n"+
				"or end it: "+env.az("aks mesh upgrade rollback"))
	})

	It("includes the target", SpecTimeout(timeouts.Spec), func(ctx SpecContext) {
		expectMet(ctx, mesh.OnTarget,
			"The revision that the pipeline upgraded to must be installed.\n"+
				"Either the upgrade has not happened or was rolled back, or --target-revision names another revision than the pipeline's.")
	})
})
