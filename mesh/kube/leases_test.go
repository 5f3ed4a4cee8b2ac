package kube_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

var renewed = time.Date(2026, 7, 22, 10, 3, 0, 0, time.UTC)

// lease is one that a killed istiod left.
func lease(name string, modifiers ...func(*coordinationv1.Lease)) coordinationv1.Lease {
	l := coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "aks-istio-system", UID: types.UID("uid-of-" + name), ResourceVersion: "42",
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "pilot-discovery", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: renewed}}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("istiod-asm-1-28-7d9f5c6b8-x2x4z"), LeaseDurationSeconds: new(int32(30)),
			RenewTime: &metav1.MicroTime{Time: renewed.Add(654321 * time.Microsecond)},
		},
	}
	for _, modify := range modifiers {
		modify(&l)
	}
	return l
}

func TestElectionLeasesAreThoseWhoseNameIsAnElectionAndARevision(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	var stored []any
	for _, name := range []string{
		"istio-gateway-deployment-asm-1-28", "istio-gateway-status-leader-asm-1-28", "istio-gateway-deployment-default",
		"istio-status-leader", "istio-leader", "istio-gateway-inferencepool-asm-1-28", "istio-gateway-deployment", "somebody-elses-asm-1-28",
	} {
		stored = append(stored, lease(name))
	}
	s.store(leasesPath, stored...)

	found, err := s.reader().ElectionLeases(t.Context())

	g.Expect(err).NotTo(HaveOccurred())
	names := map[string]string{}
	for _, l := range found.Leases {
		names[l.Name] = string(l.Election) + " of " + string(l.Revision)
		g.Expect(found.Objects[l.UID].Name).To(Equal(l.Name), "the stored object by its UID")
	}
	g.Expect(names).To(Equal(map[string]string{
		"istio-gateway-deployment-asm-1-28":    "istio-gateway-deployment of asm-1-28",
		"istio-gateway-status-leader-asm-1-28": "istio-gateway-status-leader of asm-1-28",
		"istio-gateway-deployment-default":     "istio-gateway-deployment of default",
	}))
	g.Expect(found.Objects).To(HaveLen(3))
}

func TestElectionLeasesMayBeNone(t *testing.T) {
	g := NewWithT(t)
	found, err := startAPIServer(t).reader().ElectionLeases(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Leases).To(BeEmpty())
	g.Expect(found.Time).NotTo(BeZero())
}

func TestLeaseFacts(t *testing.T) {
	const name = "istio-gateway-deployment-asm-1-28"
	plain := mesh.Lease{
		Namespace: "aks-istio-system", Name: name, Election: mesh.GatewayDeployment, Revision: "asm-1-28",
		UID: "uid-of-" + name, ResourceVersion: "42",
		Holder: new("istiod-asm-1-28-7d9f5c6b8-x2x4z"), DurationSeconds: new(int32(30)), Renewed: new(renewed.Add(654321 * time.Microsecond)),
		Writers: []mesh.Writer{{Manager: "pilot-discovery", Time: new(renewed)}},
	}
	for about, row := range map[string]struct {
		stored func(*coordinationv1.Lease)
		want   func(*mesh.Lease)
	}{
		"held":     {func(*coordinationv1.Lease) {}, func(*mesh.Lease) {}},
		"released": {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("") }, func(l *mesh.Lease) { l.Holder = new("") }},
		"empty": {
			func(l *coordinationv1.Lease) { l.Spec, l.ManagedFields = coordinationv1.LeaseSpec{}, nil },
			func(l *mesh.Lease) { l.Holder, l.DurationSeconds, l.Renewed, l.Writers = nil, nil, nil, nil },
		},
		"written at an unknown time": {
			func(l *coordinationv1.Lease) { l.ManagedFields[0].Time = nil },
			func(l *mesh.Lease) { l.Writers[0].Time = nil },
		},
		"written by two": {
			func(l *coordinationv1.Lease) {
				l.ManagedFields = append(l.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate})
			},
			func(l *mesh.Lease) { l.Writers = append(l.Writers, mesh.Writer{Manager: "kubectl-edit"}) },
		},
		"owned": {
			func(l *coordinationv1.Lease) {
				l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "u"}, {APIVersion: "v1", Kind: "Pod", Name: "p", UID: "v"}}
			},
			func(l *mesh.Lease) { l.Owners = []string{"Deployment d", "Pod p"} },
		},
		"marked": {
			func(l *coordinationv1.Lease) {
				l.Finalizers, l.Labels, l.Annotations = []string{"f/x"}, map[string]string{"a": "b"}, map[string]string{"c": "d"}
			},
			func(l *mesh.Lease) {
				l.Finalizers, l.Labels, l.Annotations = []string{"f/x"}, map[string]string{"a": "b"}, map[string]string{"c": "d"}
			},
		},
		"coordinated by a strategy": {
			func(l *coordinationv1.Lease) { l.Spec.Strategy = new(coordinationv1.OldestEmulationVersion) },
			func(l *mesh.Lease) { l.Coordinated = true },
		},
		"coordinated for somebody": {
			func(l *coordinationv1.Lease) { l.Spec.PreferredHolder = new("p") },
			func(l *mesh.Lease) { l.Coordinated = true },
		},
		"being deleted": {
			func(l *coordinationv1.Lease) { l.DeletionTimestamp = &metav1.Time{Time: renewed} },
			func(l *mesh.Lease) { l.Deleting = true },
		},
	} {
		t.Run(about, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			s.store(leasesPath, lease(name, row.stored))
			want := plain
			want.Writers = []mesh.Writer{plain.Writers[0]}
			row.want(&want)

			found, err := s.reader().ElectionLeases(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Leases).To(HaveLen(1))
			g.Expect(utc(found.Leases[0])).To(Equal(want))
		})
	}
}

// utc takes the time zone out of a lease's times, which is this machine's.
func utc(l mesh.Lease) mesh.Lease {
	if l.Renewed != nil {
		l.Renewed = new(l.Renewed.UTC())
	}
	for i, w := range l.Writers {
		if w.Time != nil {
			l.Writers[i].Time = new(w.Time.UTC())
		}
	}
	return l
}

func TestTimeOfLeasesIsTheDateOfTheAnswer(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for name, row := range map[string]struct {
		date []string
		want time.Time
	}{
		"a date":                     {[]string{now.Format(http.TimeFormat)}, now},
		"one of a clock that is off": {[]string{now.Add(-30 * time.Second).Format(http.TimeFormat)}, now.Add(-30 * time.Second)},
		"none":                       {nil, time.Time{}},
		"an empty one":               {[]string{""}, time.Time{}},
		"one that is no date":        {[]string{"today"}, time.Time{}},
		// One of the two clocks is wrong, and nothing tells which.
		"one of long ago":        {[]string{now.Add(-5 * time.Minute).Format(http.TimeFormat)}, time.Time{}},
		"one of the far future":  {[]string{now.Add(5 * time.Minute).Format(http.TimeFormat)}, time.Time{}},
		"one of another century": {[]string{"Wed, 22 Jul 1926 13:00:00 GMT"}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			r := s.reader()
			before, err := r.ElectionLeases(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(before.Time).NotTo(BeZero(), "the server's own date")
			s.answer(leasesPath, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Date"] = row.date
				respond(w, http.StatusOK, page(r, nil))
			})

			found, err := r.ElectionLeases(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Time).To(BeTemporally("==", row.want), "and not what was known before")
		})
	}
}
