// Package leases deletes the leader-election leases that retired Istio
// revisions leave behind (Azure/AKS#5862, istio/istio#61155).
//
// It refuses to delete anything unless the mesh is settled on the target, on a
// cluster that is proven to be the right one; it deletes only leases that
// mesh.Judge calls orphaned, exactly in the state that was judged; and it
// writes a record first. A lease that it keeps costs nothing.
package leases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

// Defaults of Options.
const (
	// DefaultGrace is how long an orphan must have been silent. A killed
	// istiod goes on holding its lease for 30 s at most.
	DefaultGrace = 10 * time.Minute
	// DefaultMaxDeletions is more than any upgrade leaves behind (two leases
	// a revision), and few enough to restore by hand.
	DefaultMaxDeletions = 20
	// DefaultRecreationWait is within which a live istiod makes a deleted
	// lease again: it tries every 7.5 s (istio/istio,
	// pilot/pkg/leaderelection; measured: within 10 s).
	DefaultRecreationWait = 10 * time.Second
)

// Options say what a Fixer may do. The zero value of a field is its default.
type Options struct {
	// Target is the revision that the pipeline upgraded to. It is required.
	Target mesh.Revision
	// Record keeps what is deleted. It is required.
	Record *fixers.Record
	// Namespace is the mesh's; kube.MeshNamespace by default.
	Namespace string
	// APIServerAliases are further names of the cluster's API server.
	APIServerAliases []string
	// Grace is how long an orphan must have been silent.
	Grace time.Duration
	// MaxDeletions is the number of orphans above which none is deleted.
	MaxDeletions int
	// RecreationWait is the time between the deletions and the last look.
	RecreationWait time.Duration
}

// Fixer deletes orphaned election leases. Its methods may be called
// concurrently.
type Fixer struct {
	gate    fixers.Gate
	reader  *kube.Reader
	deleter rest.Interface
	options Options
}

var _ fixers.Fixer = (*Fixer)(nil)

// New returns a fixer for the cluster of cfg, whose installation source knows.
// It connects to nothing yet. The only change that its clients can make is to
// delete a Lease in the mesh's namespace.
func New(source fixers.InstallationReader, cfg *rest.Config, options Options) (*Fixer, error) {
	if err := options.problems(); err != nil {
		return nil, fmt.Errorf("make a lease fixer: %w", err)
	}
	options = withDefaults(options)
	reader, err := kube.NewReader(cfg, options.Namespace)
	if err != nil {
		return nil, err
	}
	client, err := coordinationv1.NewForConfig(kube.Unthrottled(kube.LeaseDeleter(cfg, options.Namespace)))
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", reader.APIServer().Name, err)
	}
	return &Fixer{
		gate:    fixers.Gate{Source: source, Cluster: reader, Target: options.Target, APIServerAliases: options.APIServerAliases},
		reader:  reader,
		deleter: client.RESTClient(),
		options: options,
	}, nil
}

// problems returns everything that is wrong with the options, as one error.
func (o Options) problems() error {
	var problems []error
	if o.Target == "" {
		problems = append(problems, errors.New("it needs a target revision"))
	}
	if o.Record == nil {
		problems = append(problems, errors.New("it needs a record"))
	}
	for _, name := range o.APIServerAliases {
		problems = append(problems, mesh.CheckAlias(name))
	}
	if o.Grace < 0 || o.MaxDeletions < 0 || o.RecreationWait < 0 {
		problems = append(problems, fmt.Errorf("grace %s, limit of deletions %d and recreation wait %s must not be negative", o.Grace, o.MaxDeletions, o.RecreationWait))
	}
	return errors.Join(problems...)
}

func withDefaults(o Options) Options {
	if o.Namespace == "" {
		o.Namespace = kube.MeshNamespace
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.MaxDeletions == 0 {
		o.MaxDeletions = DefaultMaxDeletions
	}
	if o.RecreationWait == 0 {
		o.RecreationWait = DefaultRecreationWait
	}
	return o
}

// Fix implements fixers.Fixer.
func (f *Fixer) Fix(ctx context.Context) (outcome fixers.Outcome, err error) {
	plan, err := f.prepare(ctx, &outcome)
	if err != nil {
		outcome.RestoreFile = "" // nothing was deleted
		if !errors.Is(err, fixers.ErrRefused) {
			outcome.Error = err.Error()
		}
		return outcome, err
	}
	if len(plan.delete) == 0 {
		return outcome, nil
	}
	return f.apply(ctx, plan, outcome)
}

// prepare does all that comes before a deletion: gate, plan, limit, record, and
// the gate once more, since the world may have moved meanwhile.
func (f *Fixer) prepare(ctx context.Context, outcome *fixers.Outcome) (plan, error) {
	installation, err := f.pass(ctx, outcome)
	if errors.Is(err, fixers.ErrRefused) {
		return plan{}, errors.Join(err, f.keepAll(outcome, plan{}, err, fixers.Decision{
			Object: "every lease", Namespace: f.options.Namespace, Decision: "keep", Result: string(fixers.Kept), Error: err.Error(),
		}))
	}
	if err != nil {
		return plan{}, err
	}
	plan, err := f.plan(ctx, installation)
	if err != nil {
		return plan, err
	}
	outcome.Results = plan.kept()
	if n := len(plan.delete); n > f.options.MaxDeletions {
		err := refuse(outcome, fmt.Sprintf("there are %d orphaned leases, and one run may delete at most %d: look at them, then allow it with --max-deletions %d", n, f.options.MaxDeletions, n))
		return plan, errors.Join(err, f.keepAll(outcome, plan, err, decisions(plan.keep, "keep", string(fixers.Kept))...))
	}
	if outcome.AuditFile, err = f.record(plan, outcome); err != nil {
		return plan, fmt.Errorf("nothing was deleted: %w", err)
	}
	if len(plan.delete) == 0 {
		return plan, nil
	}
	if _, err = f.pass(ctx, outcome); err != nil {
		return plan, errors.Join(err, f.keepAll(outcome, plan, err))
	}
	return plan, nil
}

// pass checks the gate, and turns reasons into a refusal.
func (f *Fixer) pass(ctx context.Context, outcome *fixers.Outcome) (mesh.Installation, error) {
	installation, reasons, err := f.gate.Check(ctx)
	if err != nil {
		return installation, err
	}
	if len(reasons) > 0 {
		return installation, refuse(outcome, reasons...)
	}
	return installation, nil
}

func refuse(outcome *fixers.Outcome, reasons ...string) error {
	outcome.Refused = append(outcome.Refused, reasons...)
	return fmt.Errorf("%w: %s", fixers.ErrRefused, strings.Join(reasons, "; "))
}

// keepAll keeps what was to be deleted, because of a cause, and records that
// beside what else was kept.
func (f *Fixer) keepAll(outcome *fixers.Outcome, plan plan, cause error, kept ...fixers.Decision) error {
	for _, j := range plan.delete {
		outcome.Results = append(outcome.Results, result(j, fixers.Kept, mesh.Printable(cause.Error())))
		kept = append(kept, decide(j, "keep", string(fixers.Kept), cause))
	}
	path, err := f.options.Record.Audit(kept...)
	outcome.AuditFile = path
	if err != nil {
		outcome.Error = err.Error()
	}
	return err
}
