package kube

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// ElectionLeases are the election leases of the mesh at one time.
type ElectionLeases struct {
	Leases []mesh.Lease
	// Time is the API server's, from the Date of its answer; zero when it gave
	// none, or one that differs from this machine's clock by over a minute.
	Time time.Time
	// Objects are the leases as stored, by UID.
	Objects map[string]coordinationv1.Lease
}

// ElectionLeases lists the leases of the mesh's namespace and returns those
// whose name is an election and a revision. None at all is a legitimate answer:
// which exist depends on the Istio version.
func (r *Reader) ElectionLeases(ctx context.Context) (ElectionLeases, error) {
	stored, err := listAll[coordinationv1.Lease](ctx, "leases in "+r.namespace, page(r.client.CoordinationV1().Leases(r.namespace).List))
	if err != nil {
		return ElectionLeases{}, err
	}
	found := ElectionLeases{Time: r.clock.now(), Objects: map[string]coordinationv1.Lease{}}
	for _, l := range stored {
		if election, revision, ok := mesh.ParseElectionLease(l.Name); ok {
			found.Leases = append(found.Leases, leaseFacts(l, election, revision))
			found.Objects[string(l.UID)] = l
		}
	}
	return found, nil
}

func leaseFacts(l coordinationv1.Lease, election mesh.Election, revision mesh.Revision) mesh.Lease {
	facts := mesh.Lease{
		Namespace: l.Namespace, Name: l.Name, Election: election, Revision: revision,
		UID: string(l.UID), ResourceVersion: l.ResourceVersion,
		Holder: l.Spec.HolderIdentity, DurationSeconds: l.Spec.LeaseDurationSeconds,
		Finalizers: l.Finalizers, Labels: l.Labels, Annotations: l.Annotations,
		Deleting:    l.DeletionTimestamp != nil,
		Coordinated: l.Spec.Strategy != nil || l.Spec.PreferredHolder != nil,
	}
	if l.Spec.RenewTime != nil {
		facts.Renewed = &l.Spec.RenewTime.Time
	}
	for _, o := range l.OwnerReferences {
		facts.Owners = append(facts.Owners, o.Kind+" "+o.Name)
	}
	for _, m := range l.ManagedFields {
		facts.Writers = append(facts.Writers, mesh.Writer{Manager: m.Manager, Time: timeOf(m.Time)})
	}
	return facts
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}
