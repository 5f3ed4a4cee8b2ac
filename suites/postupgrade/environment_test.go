package postupgrade

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	. "github.com/onsi/ginkgo/v2"
	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

// environment is the cluster under test, and what the run may do to it. Each
// kind of fact is read once and then remembered: every spec gives its first
// verdict on the same state. After a fixer, the cluster is read again.
type environment struct {
	flags
	target mesh.Revision
	id     aks.ClusterID
	// server says where the kubeconfig leads, and as whom.
	server     string
	arm        *aks.Reader
	cluster    *kube.Reader
	leaseFixer *leases.Fixer // nil without --fix

	installation  cached[mesh.Installation]
	controlPlanes cached[[]mesh.ControlPlane]
	leases        cached[kube.ElectionLeases]
	life          cached[mesh.Life]

	fixed    bool // the lease fixer was called
	outcome  fixers.Outcome
	fixError error
}

// newEnvironment judges the flags and connects to nothing. All problems come
// back in one error.
func newEnvironment(f *flags, leftOver []string) (*environment, error) {
	e := &environment{flags: *f}
	problems := slices.Clone(f.problems)
	problem := func(err error, subject string) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %s", subject, userInfo.ReplaceAllString(err.Error(), "//xxxxx@")))
		}
	}
	if len(leftOver) > 0 {
		problem(fmt.Errorf("%q", leftOver), "left-over arguments (a compiled suite takes its flags without --)")
	}
	var err error
	e.id, err = aks.ParseClusterID(f.clusterID)
	problem(err, "--cluster-id (POSTFLIGHT_CLUSTER_ID)")
	problem(e.setTarget(), "--target-revision (POSTFLIGHT_TARGET_REVISION)")
	configuration, err := aks.ParseCloud(f.cloud)
	problem(err, "--cloud (AZURE_CLOUD)")
	var endpoint *url.URL
	if f.armEndpoint != "" {
		endpoint, err = aks.ParseEndpoint(f.armEndpoint)
		problem(err, "--arm-endpoint (POSTFLIGHT_ARM_ENDPOINT)")
	}
	if f.leaseGrace < mesh.MinGrace {
		problem(fmt.Errorf("%s is less than %s, for which a killed istiod goes on holding its lease", f.leaseGrace, mesh.MinGrace), "--lease-grace")
	}
	for _, name := range f.apiServerNames {
		problem(mesh.CheckAlias(name), "--api-server-name")
	}
	if f.maxDeletions < 1 {
		problem(fmt.Errorf("%d is less than 1", f.maxDeletions), "--max-deletions")
	}
	cfg, who, err := e.kubeconfig()
	problem(err, "--kubeconfig (KUBECONFIG)")
	problem(e.setArtifacts(), "--artifacts (ARTIFACTS, ARTIFACT_DIR)")
	if len(problems) == 0 {
		problem(e.connect(configuration, endpoint, cfg, who), "connect")
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("mesh-postflight: nothing was read or changed, because of %d problem(s) with flags and environment:\n  - %s\nSee --help", len(problems), strings.Join(problems, "\n  - "))
	}
	return e, nil
}

func (e *environment) setTarget() error {
	if e.targetRevision == "" {
		return errors.New("is empty; name the revision that the pipeline upgraded to, such as asm-1-29")
	}
	r, err := mesh.ParseRevision(e.targetRevision)
	if err != nil {
		return err
	}
	if !r.OfAddOn() {
		return fmt.Errorf("%q has not the form asm-<major>-<minor> of AKS's managed Istio add-on; upstream Istio is not supported yet", e.targetRevision)
	}
	e.target = r
	return nil
}

// setArtifacts makes the folder's path absolute. A run that may delete always
// has one.
func (e *environment) setArtifacts() error {
	if e.artifacts == "" {
		if !e.fix {
			return nil
		}
		e.artifacts = "postflight-artifacts"
	}
	path, err := filepath.Abs(e.artifacts)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder", path)
	}
	e.artifacts = path
	return nil
}

func (e *environment) connect(configuration cloud.Configuration, endpoint *url.URL, cfg *rest.Config, who string) error {
	var err error
	if e.arm, err = aks.NewReader(e.id, configuration, endpoint); err != nil {
		return err
	}
	if e.cluster, err = kube.NewReader(cfg, kube.MeshNamespace); err != nil {
		return err
	}
	address, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return err
	}
	e.server = address.Redacted()
	if name := e.cluster.APIServer().Name; name != address.Hostname() {
		e.server += ", named " + name
	}
	e.server += fmt.Sprintf(" (%s)", who)
	if !e.fix {
		return nil
	}
	e.leaseFixer, err = leases.New(e.arm, cfg, leases.Options{
		Target:           e.target,
		Record:           &fixers.Record{Dir: e.artifacts, Who: operator() + ", " + who, Cluster: e.clusterID},
		APIServerAliases: e.apiServerNames,
		Grace:            e.leaseGrace,
		MaxDeletions:     e.maxDeletions,
	})
	return err
}

// operator is who runs this process, where.
func operator() string {
	name := "unknown user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return name + "@" + host
}

// banner says at the start what is verified, and whether it may be changed.
func (e *environment) banner() string {
	mode := "read-only: nothing will be changed"
	if e.fix {
		mode = fmt.Sprintf("--fix: orphaned leases will be deleted, or none if there are over %d; record in %s", e.maxDeletions, e.artifacts)
	}
	if e.advisory {
		mode += "; --advisory: warnings only"
	}
	arm := "ARM"
	if e.armEndpoint != "" {
		arm = "faked ARM at " + e.armEndpoint
	}
	return fmt.Sprintf("mesh-postflight\n  cluster     %s (%s)\n  API server  %s\n  target      %s\n  mode        %s\n",
		e.clusterID, arm, e.server, e.target, mode)
}

// afresh returns the environment with nothing remembered of the cluster.
func (e *environment) afresh() *environment {
	fresh := *e
	fresh.controlPlanes, fresh.leases, fresh.life = cached[[]mesh.ControlPlane]{}, cached[kube.ElectionLeases]{}, cached[mesh.Life]{}
	return &fresh
}

// fixLeases calls the lease fixer, once in a run: its outcome serves both
// specs that it repairs, so that a run has one plan, one limit, one record and
// one wait.
func (e *environment) fixLeases(ctx context.Context) (fixers.Outcome, error) {
	if !e.fixed {
		e.fixed = true
		// What the other spec sees when this call does not return.
		e.fixError = errors.New("the fixer did not return")
		e.outcome = fixers.Outcome{Error: e.fixError.Error() + "; see the audit file in " + e.artifacts}
		e.outcome, e.fixError = e.leaseFixer.Fix(ctx)
		AddReportEntry(entryRepair, e.outcome, ReportEntryVisibilityNever)
	}
	return e.outcome, e.fixError
}
