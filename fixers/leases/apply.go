package leases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

// workers bounds the deletions under way at once.
const workers = 16

// deletion is one lease of the plan and what became of it.
type deletion struct {
	judgement mesh.Judgement
	action    fixers.Action
	err       error
}

// apply deletes exactly the plan, looks again, and records the results.
func (f *Fixer) apply(ctx context.Context, p plan, outcome fixers.Outcome) (fixers.Outcome, error) {
	deletions := f.deleteAll(ctx, p.delete)
	looked := f.lookAgain(ctx, deletions)
	var (
		results []fixers.Decision
		errs    []error
	)
	for _, d := range deletions {
		outcome.Results = append(outcome.Results, result(d.judgement, d.action, d.why()))
		results = append(results, decide(d.judgement, "delete", string(d.action), d.err))
		if d.action != fixers.Kept && d.err != nil {
			errs = append(errs, fmt.Errorf("delete lease %s: %w", d.judgement.Lease.Name, d.err))
		}
	}
	_, audited := f.options.Record.Audit(results...)
	if err := errors.Join(looked, audited); err != nil {
		outcome.Error = err.Error()
		errs = append(errs, err)
	}
	return outcome, errors.Join(errs...)
}

// mayBeDone reports whether the lease may have been deleted at our request: it
// was, or the answer was lost or no clear refusal.
func (d *deletion) mayBeDone() bool {
	if d.action != fixers.Failed {
		return d.action == fixers.Deleted
	}
	var status apierrors.APIStatus
	return !errors.As(d.err, &status) || status.Status().Code >= 500
}

func (d *deletion) why() string {
	if d.err != nil {
		return d.err.Error()
	}
	return fmt.Sprintf("%s: revision %s, %s, renewed %s", d.judgement.Verdict, d.judgement.Lease.Revision, d.judgement.Holder, mesh.Stamp(*d.judgement.Lease.Renewed))
}

// deleteAll asks for every deletion until ctx ends. Those under way then are
// finished, so that what became of them is known.
func (f *Fixer) deleteAll(ctx context.Context, judgements []mesh.Judgement) []*deletion {
	deletions := make([]*deletion, len(judgements))
	var group errgroup.Group
	group.SetLimit(workers)
	for i, j := range judgements {
		d := &deletion{judgement: j, action: fixers.NotTried}
		deletions[i] = d
		group.Go(func() error {
			if d.err = context.Cause(ctx); d.err == nil {
				f.delete(ctx, d)
			}
			return nil
		})
	}
	_ = group.Wait() // each deletion has its own error
	return deletions
}

var errChanged = errors.New("it has changed since it was judged, so somebody may hold it")

func (f *Fixer) delete(ctx context.Context, d *deletion) {
	uid, version := types.UID(d.judgement.Lease.UID), d.judgement.Lease.ResourceVersion
	err := kube.Retry(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return f.deleter.Delete(ctx, d.judgement.Lease.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
	})
	switch {
	case err == nil:
		d.action = fixers.Deleted
	case apierrors.IsNotFound(err):
		d.action = fixers.AlreadyGone
	case apierrors.IsConflict(err):
		d.action, d.err = fixers.Kept, errChanged
	default:
		d.action, d.err = fixers.Failed, err
	}
}

// lookAgain reads the leases once more, after a live istiod would have made
// again what was deleted.
func (f *Fixer) lookAgain(ctx context.Context, deletions []*deletion) error {
	if !slices.ContainsFunc(deletions, (*deletion).mayBeDone) {
		return nil
	}
	select {
	case <-time.After(f.options.RecreationWait):
	case <-ctx.Done():
		return fmt.Errorf("deleted leases were not looked for again: %w", context.Cause(ctx))
	}
	leases, err := f.reader.ElectionLeases(ctx)
	if err != nil {
		return fmt.Errorf("look for deleted leases again: %w", err)
	}
	there := map[string]bool{}
	for _, l := range leases.Leases {
		there[l.Name] = true
	}
	for _, d := range deletions {
		switch {
		case there[d.judgement.Lease.Name] && (d.action == fixers.Deleted || d.action == fixers.AlreadyGone):
			d.action, d.err = fixers.CameBack, fmt.Errorf("%w: revision %s is not retired, somebody made its lease again", fixers.ErrCameBack, d.judgement.Lease.Revision)
		case !there[d.judgement.Lease.Name] && d.action == fixers.Failed:
			// The answer was lost on the way, the deletion was not.
			d.action, d.err = fixers.AlreadyGone, nil
		}
	}
	return nil
}
