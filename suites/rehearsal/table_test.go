package rehearsal

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/fixtures/faultproxy"
	"github.com/mesh-postflight/mesh-postflight/fixtures/scenarios"
)

// The specs of the post-upgrade suite, by their text.
const (
	access        = "Access includes every permission that the chosen mode needs"
	sameCluster   = "Access leads to the cluster that ARM describes"
	provisioned   = "The mesh's installation has been provisioned"
	notUpgrading  = "The mesh's installation has no upgrade in progress"
	oneRevision   = "The mesh's installation is exactly one revision"
	onTarget      = "The mesh's installation includes the target"
	rolledOut     = "The control plane of the target is rolled out"
	noOther       = "The control plane is of no other revision"
	gatewayLease  = "Leader election when a revision has been retired keeps no istio-gateway-deployment lease of that revision"
	statusLease   = "Leader election when a revision has been retired keeps no istio-gateway-status-leader lease of that revision"
	retiredRule   = "Retired revisions must hold no leader-election lease: they age forever and keep"
	nothingJudged = "no revision can be called retired, so no lease is judged or deleted:"
)

// rehearsal is one row of the table: a situation, how the suite is run in it,
// and what must come of it.
type rehearsal struct {
	// name completes the sentence "the suite …".
	name string
	// scenario is what is staged, with more objects in it.
	scenario string
	objects  []scenarios.Object
	// change makes the situation different from the scenario.
	change func(ctx context.Context, s *stage)
	args   []string
	// identity makes the one that the suite runs as. By default it is the fixer
	// with --fix, and else the verifier.
	identity func(ctx context.Context) identity

	exit int
	// verdicts are those of the specs that do not simply pass.
	verdicts map[string]expected
	// deleted are the leases that must be gone. All others must be untouched.
	deleted []string
}

// expected is a verdict, and the first line of its failure or reason.
type expected struct{ verdict, says string }

var (
	orphansOf2728 = slices.Concat(leaseNames("istio-gateway-deployment", "asm-1-27", "asm-1-28"), leaseNames("istio-gateway-status-leader", "asm-1-27", "asm-1-28"))
	orphansOf29   = slices.Concat(leaseNames("istio-gateway-deployment", "asm-1-29"), leaseNames("istio-gateway-status-leader", "asm-1-29"))

	fixed          = expected{verdict: "FIXED"}
	retiredFound   = expected{"FAIL", retiredRule}
	retiredWarned  = expected{"FAIL (warning)", "WARNING (--advisory)"}
	leasesSkipped  = map[string]expected{gatewayLease: {"SKIPPED", nothingJudged}, statusLease: {"SKIPPED", nothingJudged}}
	leasesFixed    = map[string]expected{gatewayLease: fixed, statusLease: fixed}
	leasesFound    = map[string]expected{gatewayLease: retiredFound, statusLease: retiredFound}
	notItsCluster  = expected{"SKIPPED", "not judged, since the kubeconfig leads to the API server SERVER, which is none of those that ARM names: another-cluster.hcp.westus3.azmk8s.io"}
	notProvisioned = expected{"FAIL", "An operation on the cluster must end, and succeed, before the mesh is judged."}
	upgrading      = expected{"FAIL", "A mesh upgrade must be completed or rolled back before a revision counts as retired."}
	notOne         = expected{"FAIL", "After an upgrade exactly one revision must be installed."}
	offTarget      = expected{"FAIL", "The revision that the pipeline upgraded to must be installed."}
	notRolledOut   = expected{"FAIL", "The target's istiod must be rolled out, or proxies have no stable control plane."}
	another        = expected{"FAIL", "No istiod of another revision may remain in aks-istio-system after the upgrade."}
)

// rehearsals is the table. docs/rehearsals.md is made from it.
var rehearsals = []rehearsal{
	{name: "passes on a healthy mesh", scenario: "settled"},
	{name: "passes on a healthy mesh with --fix, and changes nothing", scenario: "settled", args: []string{"--fix"}},
	{
		name: "names every orphan of two retired revisions, and deletes none", scenario: "retired-leases",
		exit: 1, verdicts: leasesFound,
	},
	{
		name: "deletes every orphan with --fix", scenario: "retired-leases", args: []string{"--fix"},
		verdicts: leasesFixed, deleted: orphansOf2728,
	},
	{
		name: "warns of orphans with --advisory", scenario: "retired-leases", args: []string{"--advisory"},
		verdicts: map[string]expected{gatewayLease: retiredWarned, statusLease: retiredWarned},
	},
	{
		name: "deletes every orphan with --advisory --fix", scenario: "retired-leases", args: []string{"--advisory", "--fix"},
		verdicts: leasesFixed, deleted: orphansOf2728,
	},
	{
		name: "deletes the higher revision's orphans after a rollback", scenario: "rolled-back", args: []string{"--fix"},
		verdicts: leasesFixed, deleted: orphansOf29,
	},
	{
		name: "finds the gateway-deployment lease alone", scenario: "settled",
		objects: []scenarios.Object{orphanLease("istio-gateway-deployment-asm-1-28")},
		exit:    1, verdicts: map[string]expected{gatewayLease: retiredFound},
	},
	{
		name: "finds the gateway-status-leader lease alone", scenario: "settled",
		objects: []scenarios.Object{orphanLease("istio-gateway-status-leader-asm-1-28")},
		exit:    1, verdicts: map[string]expected{statusLease: retiredFound},
	},
	{
		name: "touches nothing in the middle of an upgrade", scenario: "mid-upgrade", args: []string{"--fix"},
		exit: 1, verdicts: with(leasesSkipped, map[string]expected{notUpgrading: upgrading, oneRevision: notOne, noOther: another}),
	},
	{
		name: "touches nothing when another revision is installed", scenario: "wrong-revision", args: []string{"--fix"},
		exit: 1, verdicts: with(leasesSkipped, map[string]expected{onTarget: offTarget, rolledOut: notRolledOut, noOther: another}),
	},
	{
		name: "touches nothing where there is no mesh", scenario: "no-mesh", args: []string{"--fix"},
		exit: 1, verdicts: with(leasesSkipped, map[string]expected{oneRevision: notOne, onTarget: offTarget, rolledOut: notRolledOut, noOther: another}),
	},
	{
		name: "touches nothing while an operation runs", scenario: "updating", args: []string{"--fix"},
		exit: 1, verdicts: with(leasesSkipped, map[string]expected{provisioned: notProvisioned}),
	},
	{
		name: "touches nothing while ARM refuses to list upgrades", scenario: "retired-leases", args: []string{"--fix"},
		change: func(_ context.Context, s *stage) { Expect(s.arm.SetUpgradeInProgress(clusterID, true)).To(Succeed()) },
		exit:   1, verdicts: with(leasesSkipped, map[string]expected{notUpgrading: upgrading}),
	},
	{
		name: "touches nothing while two revisions are installed", scenario: "retired-leases", args: []string{"--fix"},
		change: setRevisions("asm-1-28", "asm-1-29"),
		exit:   1, verdicts: with(leasesSkipped, map[string]expected{oneRevision: notOne}),
	},
	{
		name: "touches nothing while ARM lists a revision twice", scenario: "retired-leases", args: []string{"--fix"},
		change: setRevisions("asm-1-29", "asm-1-29"),
		exit:   1, verdicts: with(leasesSkipped, map[string]expected{oneRevision: notOne}),
	},
	{
		name: "touches nothing when the target is not installed", scenario: "retired-leases", args: []string{"--fix"},
		change: setRevisions("asm-1-30"),
		exit:   1, verdicts: with(leasesSkipped, map[string]expected{onTarget: offTarget}),
	},
	{
		name: "finds a target that is not rolled out", scenario: "settled", change: unready,
		exit: 1, verdicts: map[string]expected{rolledOut: notRolledOut},
	},
	{
		name: "refuses to fix while the target is not rolled out", scenario: "retired-leases", args: []string{"--fix"}, change: unready,
		exit: 1, verdicts: map[string]expected{rolledOut: notRolledOut, gatewayLease: {"REFUSED", retiredRule}, statusLease: {"REFUSED", retiredRule}},
	},
	{
		name: "finds an istiod of another revision", scenario: "settled",
		objects: []scenarios.Object{deploymentOf("asm-1-28")},
		exit:    1, verdicts: map[string]expected{noOther: another},
	},
	{
		name: "keeps the leases of a revision that lives", scenario: "retired-leases", args: []string{"--fix"},
		objects: []scenarios.Object{deploymentOf("asm-1-28")},
		exit:    1, verdicts: with(leasesFound, map[string]expected{noOther: another}),
		deleted: slices.Concat(leaseNames("istio-gateway-deployment", "asm-1-27"), leaseNames("istio-gateway-status-leader", "asm-1-27")),
	},
	{
		name: "keeps the leases that a revision tag resolves to", scenario: "retired-leases", args: []string{"--fix"},
		objects: []scenarios.Object{scenarios.RevisionTag("older", "asm-1-27"), scenarios.RevisionTag("old", "asm-1-28")},
		exit:    1, verdicts: leasesFound,
	},
	{
		name: "keeps a lease that was renewed within the grace", scenario: "settled", args: []string{"--fix"},
		objects: []scenarios.Object{orphanLease("istio-gateway-deployment-asm-1-28", scenarios.RenewedAt(time.Now().Add(-2*time.Minute)))},
		exit:    1, verdicts: map[string]expected{gatewayLease: retiredFound},
	},
	{
		name: "keeps a lease that somebody else wrote", scenario: "settled", args: []string{"--fix"},
		objects: []scenarios.Object{orphanLease("istio-gateway-deployment-asm-1-28", scenarios.TouchedBy("kubectl-edit", time.Now().Add(-2*time.Hour)))},
		exit:    1, verdicts: map[string]expected{gatewayLease: retiredFound},
	},
	{
		name: "keeps a lease that is held from outside the cluster", scenario: "settled", args: []string{"--fix"},
		objects: []scenarios.Object{orphanLease("istio-gateway-status-leader-asm-1-28", scenarios.HeldBy("not-on-kubernetes"))},
		exit:    1, verdicts: map[string]expected{statusLease: retiredFound},
	},
	{
		name: "never takes the suffix of a live revision for a retired one", scenario: "settled", args: []string{"--fix"},
		objects: []scenarios.Object{orphanLease("istio-gateway-deployment-1-29")},
		exit:    1, verdicts: map[string]expected{gatewayLease: retiredFound},
	},
	{
		name: "refuses to delete more than --max-deletions", scenario: "retired-leases", args: []string{"--fix", "--max-deletions", "3"},
		exit: 1, verdicts: map[string]expected{gatewayLease: {"REFUSED", retiredRule}, statusLease: {"REFUSED", retiredRule}},
	},
	{
		name: "judges nothing on another cluster than ARM's", scenario: "retired-leases", args: []string{"--fix"}, change: anotherFQDN,
		exit: 1, verdicts: with(leasesSkipped, map[string]expected{rolledOut: notItsCluster, noOther: notItsCluster, sameCluster: {"FAIL", "A verdict on one cluster by the facts of another is worthless: nothing was judged by it, and --fix deletes nothing."}}),
	},
	{
		name: "takes the user's word for another name of the API server", scenario: "retired-leases", change: otherName,
		args:     []string{"--fix", "--api-server-name", faultproxy.OtherName},
		verdicts: leasesFixed, deleted: orphansOf2728,
	},
	{
		name: "names a permission that is missing", scenario: "settled",
		identity: func(ctx context.Context) identity { return lacking(ctx, listRule("", "pods")) },
		exit:     1, verdicts: map[string]expected{access: {"FAIL", accessMissing}},
	},
	{
		name: "calls nothing a pass when ARM cannot be read", scenario: "retired-leases", args: []string{"--fix"}, change: armForbidden,
		exit: 1, verdicts: armUnread("UNVERIFIED", "Could not verify the mesh's installation: get managed cluster rehearsal from ARM: ARM answered 403 AuthorizationFailed: no read for you"),
	},
	{
		name: "warns with --advisory when ARM cannot be read", scenario: "retired-leases", args: []string{"--advisory", "--fix"}, change: armForbidden,
		verdicts: armUnread("UNVERIFIED (warning)", "WARNING (--advisory)"),
	},
}

func with(a, b map[string]expected) map[string]expected {
	both := map[string]expected{}
	for _, m := range []map[string]expected{a, b} {
		for spec, e := range m {
			both[spec] = e
		}
	}
	return both
}

func armUnread(verdict, says string) map[string]expected {
	unread := map[string]expected{}
	for _, spec := range []string{sameCluster, provisioned, notUpgrading, oneRevision, onTarget, rolledOut, noOther, gatewayLease, statusLease} {
		unread[spec] = expected{verdict, says}
	}
	return unread
}

// orphanLease is a lease that a killed istiod left three hours ago.
func orphanLease(name string, modifiers ...scenarios.LeaseModifier) scenarios.Object {
	return scenarios.ElectionLease(name, slices.Concat([]scenarios.LeaseModifier{scenarios.RenewedAt(time.Now().Add(-3 * time.Hour))}, modifiers)...)
}

// deploymentOf is the istiod Deployment of a revision, without anything else of
// it.
func deploymentOf(revision string) scenarios.Object {
	for _, o := range scenarios.ControlPlane(revision).Objects() {
		if d, ok := o.(*appsv1.Deployment); ok {
			return d
		}
	}
	panic("a control plane has no Deployment")
}

func setRevisions(revisions ...string) func(context.Context, *stage) {
	return func(_ context.Context, s *stage) {
		Expect(s.arm.SetRevisions(clusterID, revisions)).To(Succeed())
	}
}

// unready takes ready pods away from the target's istiod.
func unready(ctx context.Context, s *stage) {
	Expect(scenarios.Unready(ctx, cluster.RESTConfig, s.target)).To(Succeed(), "make the target's istiod unready")
}

// anotherFQDN makes ARM describe a cluster with another API server.
func anotherFQDN(_ context.Context, s *stage) {
	Expect(s.arm.SetFQDN(clusterID, "another-cluster.hcp.westus3.azmk8s.io")).To(Succeed())
}

// otherName leads the suite to the API server under a name that ARM does not
// list.
func otherName(_ context.Context, s *stage) {
	s.throughProxy()
	s.otherName = true
}

func armForbidden(_ context.Context, s *stage) {
	s.inject(fakearm.Fault{Route: fakearm.GetCluster, Status: 403, Code: "AuthorizationFailed", Message: "no read for you"})
}
