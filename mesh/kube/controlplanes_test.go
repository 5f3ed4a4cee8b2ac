package kube_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

func TestControlPlanesAreTheIstiodDeployments(t *testing.T) {
	full := appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "istiod-asm-1-29", Generation: 3},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(2))},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 6, UpdatedReplicas: 4, ReadyReplicas: 5, AvailableReplicas: 7},
	}
	none := full
	none.Spec.Replicas = new(int32(0))
	defaulted := full
	defaulted.Spec.Replicas = nil
	deleting := full
	deleting.DeletionTimestamp = &metav1.Time{Time: renewed}
	facts := func(change func(*mesh.ControlPlane)) []mesh.ControlPlane {
		c := mesh.ControlPlane{Name: "istiod-asm-1-29", Revision: "asm-1-29", Generation: 3, Observed: 2, Desired: 2, Updated: 4, Ready: 5, Total: 6, Available: 7}
		change(&c)
		return []mesh.ControlPlane{c}
	}
	for name, row := range map[string]struct {
		stored any
		want   []mesh.ControlPlane
	}{
		"of a revision":          {full, facts(func(*mesh.ControlPlane) {})},
		"with none desired":      {none, facts(func(c *mesh.ControlPlane) { c.Desired = 0 })},
		"with the default count": {defaulted, facts(func(c *mesh.ControlPlane) { c.Desired = 1 })},
		"being deleted":          {deleting, facts(func(c *mesh.ControlPlane) { c.Deleting = true })},
		"without a revision":     {deployment("istiod", nil), []mesh.ControlPlane{{Name: "istiod", Revision: "default", Desired: 1}}},
		"by name, not by label":  {deployment("istiod-asm-1-28", labels{"istio.io/rev": "asm-1-27"}), []mesh.ControlPlane{{Name: "istiod-asm-1-28", Revision: "asm-1-28", Desired: 1}}},
		"not by label alone":     {deployment("gateway", labels{"istio.io/rev": "asm-1-28"}), nil},
		"not by its end":         {deployment("my-istiod-asm-1-28", nil), nil},
		"not without a name":     {deployment("istiod-", nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			s.store(deploymentsPath, row.stored)
			planes, err := s.reader().ControlPlanes(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(planes).To(Equal(row.want))
		})
	}
}

func TestControlPlanesThatCannotBeListedAreAnError(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	s.answer(deploymentsPath, failing(403, metav1.StatusReasonForbidden))
	planes, err := s.reader().ControlPlanes(t.Context())
	g.Expect(err).To(MatchError("list deployments in aks-istio-system: the message of Forbidden"))
	g.Expect(planes).To(BeEmpty())
}
