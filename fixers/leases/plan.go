package leases

import (
	"context"
	"fmt"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// plan is what is to be deleted and what is to be kept, of the retired
// revisions' leases.
type plan struct {
	delete, keep []mesh.Judgement
	objects      map[string]coordinationv1.Lease
}

func (f *Fixer) plan(ctx context.Context, installation mesh.Installation) (plan, error) {
	// Life first: what starts to live after it still changes its lease.
	life, err := f.reader.Life(ctx)
	if err != nil {
		return plan{}, err
	}
	leases, err := f.reader.ElectionLeases(ctx)
	if err != nil {
		return plan{}, err
	}
	p := plan{objects: leases.Objects}
	for _, j := range mesh.Judge(mesh.World{
		Installation: installation, Target: f.options.Target, Grace: f.options.Grace,
		Leases: leases.Leases, Life: life, Now: leases.Time,
	}) {
		switch {
		case !j.Retired():
		case j.Verdict == mesh.Orphaned:
			p.delete = append(p.delete, j)
		default:
			p.keep = append(p.keep, j)
		}
	}
	return p, nil
}

func (p plan) kept() []fixers.Result {
	var results []fixers.Result
	for _, j := range p.keep {
		results = append(results, result(j, fixers.Kept, fmt.Sprintf("%s: %s", j.Verdict, strings.Join(j.Evidence, "; "))))
	}
	return results
}

func result(j mesh.Judgement, action fixers.Action, why string) fixers.Result {
	return fixers.Result{Object: "lease " + j.Lease.Name, UID: j.Lease.UID, Action: action, Why: why}
}

// record writes the backup and the audit of a plan, before any of it is done.
func (f *Fixer) record(p plan, outcome *fixers.Outcome) (auditFile string, err error) {
	if len(p.delete)+len(p.keep) == 0 {
		return "", nil
	}
	if len(p.delete) > 0 {
		if outcome.RestoreFile, err = f.options.Record.Backup(p.manifests()); err != nil {
			return "", err
		}
	}
	return f.options.Record.Audit(slices.Concat(
		decisions(p.keep, "keep", string(fixers.Kept)),
		decisions(p.delete, "delete", "planned"),
	)...)
}

// manifests are the leases to delete without what only the API server may set.
// The audit has their UIDs and resource versions.
func (p plan) manifests() []runtime.Object {
	var manifests []runtime.Object
	for _, j := range p.delete {
		stored := p.objects[j.Lease.UID]
		l := stored.DeepCopy()
		l.TypeMeta = metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"}
		l.UID, l.ResourceVersion, l.Generation, l.CreationTimestamp, l.ManagedFields = "", "", 0, metav1.Time{}, nil
		manifests = append(manifests, l)
	}
	return manifests
}

func decisions(judgements []mesh.Judgement, decision, result string) []fixers.Decision {
	var all []fixers.Decision
	for _, j := range judgements {
		all = append(all, decide(j, decision, result, nil))
	}
	return all
}

func decide(j mesh.Judgement, decision, result string, err error) fixers.Decision {
	d := fixers.Decision{
		Object: "lease " + j.Lease.Name, Namespace: j.Lease.Namespace, UID: j.Lease.UID, ResourceVersion: j.Lease.ResourceVersion,
		Evidence: append([]string{string(j.Verdict)}, j.Evidence...), Decision: decision, Result: result,
	}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}
