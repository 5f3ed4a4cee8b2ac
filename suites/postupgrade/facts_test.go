package postupgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// readInstallation returns what ARM says is installed, or ends the spec as
// unverified.
func (e *environment) readInstallation(ctx context.Context) mesh.Installation {
	GinkgoHelper()
	installation, err := e.installation.get(ctx, e.arm.Installation)
	if err != nil {
		couldNotVerify("the mesh's installation", err)
	}
	return installation
}

// readControlPlanes returns the istiod Deployments, or ends the spec as
// unverified. On another cluster than ARM's there is nothing to judge, and only
// ARM says which that is.
func (e *environment) readControlPlanes(ctx context.Context) []mesh.ControlPlane {
	GinkgoHelper()
	if why := e.cluster.APIServer().NotOf(e.readInstallation(ctx), e.apiServerNames); why != "" {
		AddReportEntry(entryNotJudged, why, ReportEntryVisibilityNever)
		Skip("not judged, since " + why)
	}
	planes, err := e.controlPlanes.get(ctx, e.cluster.ControlPlanes)
	if err != nil {
		couldNotVerify("the control planes", err)
	}
	return planes
}

// judgeLeases returns the judged leases of one election, or ends the spec as
// unverified. What the cluster shows of life is read only where it matters: for
// leases of retired revisions.
func (e *environment) judgeLeases(ctx context.Context, election mesh.Election) []mesh.Judgement {
	GinkgoHelper()
	world := mesh.World{Installation: e.readInstallation(ctx), Target: e.target, Grace: e.leaseGrace}
	stored, err := e.leases.get(ctx, e.cluster.ElectionLeases)
	if err != nil {
		couldNotVerify("leader-election leases", err)
	}
	world.Now = stored.Time
	for _, l := range stored.Leases {
		if l.Election == election {
			world.Leases = append(world.Leases, l)
		}
	}
	judgements := mesh.Judge(world)
	if !slices.ContainsFunc(judgements, mesh.Judgement.Retired) {
		return judgements
	}
	world.Life, err = e.life.get(ctx, e.cluster.Life)
	if err != nil {
		couldNotVerify("what lives of retired revisions", err)
	}
	return mesh.Judge(world)
}

// requireRetirable ends the spec as skipped unless a revision can be called
// retired: the mesh is settled, on the cluster that ARM describes.
func (e *environment) requireRetirable(ctx context.Context) {
	GinkgoHelper()
	installation := e.readInstallation(ctx)
	reasons := installation.Unsettled(e.target)
	if why := e.cluster.APIServer().NotOf(installation, e.apiServerNames); why != "" {
		reasons = append(reasons, why)
	}
	if len(reasons) > 0 {
		AddReportEntry(entryNotJudged, reasons, ReportEntryVisibilityNever)
		Skip(fmt.Sprintf("no revision can be called retired, so no lease is judged or deleted:\n    %s", strings.Join(reasons, "\n    ")))
	}
}
