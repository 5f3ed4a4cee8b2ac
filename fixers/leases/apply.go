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
	// lost is true when an answer to the request was lost, or was no clear
	// refusal: it may have been obeyed.
	lost bool
}

// apply deletes exactly the plan, looks again, and records the results.
func (f *Fixer) apply(ctx context.Context, p plan, outcome fixers.Outcome) (fixers.Outcome, error) {
	deletions, unrecorded := f.deleteAll(ctx, p.delete)
	looked := f.lookAgain(ctx, deletions)
	if !slices.ContainsFunc(deletions, (*deletion).mayNeedRestoring) {
		outcome.RestoreFile = ""
	}
	var errs []error
	for _, d := range deletions {
		outcome.Results = append(outcome.Results, result(d.judgement, d.action, d.why()))
		if d.action != fixers.Kept && d.err != nil {
			errs = append(errs, fmt.Errorf("delete lease %s: %w", d.judgement.Lease.Name, d.err))
		}
	}
	if err := errors.Join(unrecorded, looked); err != nil {
		outcome.Error = err.Error()
		errs = append(errs, err)
	}
	return outcome, errors.Join(errs...)
}

// mayBeDone reports whether the lease may be gone, at our request or another's.
func (d *deletion) mayBeDone() bool {
	return d.action == fixers.Deleted || d.action == fixers.AlreadyGone || d.lost
}

// mayNeedRestoring reports whether we deleted the lease, or cannot say that we
// did not.
func (d *deletion) mayNeedRestoring() bool {
	return d.action == fixers.Deleted || d.action == fixers.CameBack || d.lost
}

func (d *deletion) why() string {
	if d.err != nil {
		return mesh.Printable(d.err.Error())
	}
	return fmt.Sprintf("%s: revision %s, %s, renewed %s", d.judgement.Verdict, d.judgement.Lease.Revision, d.judgement.Holder, mesh.Stamp(*d.judgement.Lease.Renewed))
}

// deleteAll asks for every deletion until ctx ends. Those under way then are
// finished, so that what became of them is known. Each result is in the audit
// as soon as it is known.
func (f *Fixer) deleteAll(ctx context.Context, judgements []mesh.Judgement) (deletions []*deletion, unrecorded error) {
	deletions = make([]*deletion, len(judgements))
	unrecordeds := make([]error, len(judgements))
	var group errgroup.Group
	group.SetLimit(workers)
	for i, j := range judgements {
		d := &deletion{judgement: j, action: fixers.NotTried}
		deletions[i] = d
		group.Go(func() error {
			if d.err = context.Cause(ctx); d.err == nil {
				f.delete(ctx, d)
			}
			unrecordeds[i] = f.audit(d)
			return nil
		})
	}
	_ = group.Wait() // each deletion has its own error
	return deletions, errors.Join(unrecordeds...)
}

func (f *Fixer) audit(d *deletion) error {
	_, err := f.options.Record.Audit(decide(d.judgement, "delete", string(d.action), d.err))
	return err
}

var errChanged = errors.New("it has changed since it was judged, so somebody may hold it")

func (f *Fixer) delete(ctx context.Context, d *deletion) {
	uid, version := types.UID(d.judgement.Lease.UID), d.judgement.Lease.ResourceVersion
	err := kube.Retry(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := kube.Request(ctx, func(ctx context.Context) (struct{}, error) {
			// client-go's own tries would hide the answers to all but the last.
			return struct{}{}, f.deleter.Delete().MaxRetries(0).
				Namespace(f.options.Namespace).Resource("leases").Name(d.judgement.Lease.Name).
				Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}).
				Do(ctx).Error()
		})
		d.lost = d.lost || unanswered(err)
		return err
	})
	switch {
	case err == nil, apierrors.IsNotFound(err) && d.lost:
		d.action = fixers.Deleted
	case apierrors.IsNotFound(err):
		d.action = fixers.AlreadyGone
	case apierrors.IsConflict(err):
		d.action, d.err = fixers.Kept, errChanged
	default:
		d.action, d.err = fixers.Failed, err
	}
}

// unanswered reports whether err leaves open what became of a request: there was
// no answer, or one of a server in trouble.
func unanswered(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	return !errors.As(err, &status) || status.Status().Code >= 500
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
		return fmt.Errorf("deleted leases were not looked for again: %w; run once more without --fix", context.Cause(ctx))
	}
	leases, err := f.reader.ElectionLeases(ctx)
	if err != nil {
		return fmt.Errorf("look for deleted leases again: %w", err)
	}
	there := map[string]string{} // UIDs by name
	for _, l := range leases.Leases {
		there[l.Name] = l.UID
	}
	var unrecorded []error
	for _, d := range deletions {
		if d.mayBeDone() && d.correct(there[d.judgement.Lease.Name]) {
			unrecorded = append(unrecorded, f.audit(d))
		}
	}
	return errors.Join(unrecorded...)
}

// correct sets what became of a lease that may be gone by what is there now
// under its name: the UID of a lease, or nothing. It reports whether that is
// news.
func (d *deletion) correct(uid string) (news bool) {
	switch {
	case uid == "" && (d.action == fixers.Failed || d.action == fixers.Kept):
		// The answer was lost on the way, the deletion was not.
		d.action, d.err = fixers.Deleted, nil
	case uid != "" && uid != d.judgement.Lease.UID:
		d.action, d.err = fixers.CameBack, fmt.Errorf("%w: revision %s is not retired, somebody made its lease again", fixers.ErrCameBack, d.judgement.Lease.Revision)
	case uid != "" && (d.action == fixers.Deleted || d.action == fixers.AlreadyGone):
		d.action, d.err = fixers.Failed, errors.New("it is still there, the same object, although the API server said that it was gone")
	default:
		return false
	}
	return true
}
