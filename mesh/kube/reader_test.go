package kube_test

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

func TestReaderCannotWrite(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	s.answer(leasesPath, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s arrived", r.Method, r.URL) })
	s.answer(leasePath, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s arrived", r.Method, r.URL) })
	client := s.reader().Client().CoordinationV1().Leases(kube.MeshNamespace)
	l := lease("istio-gateway-deployment-asm-1-28", func(l *coordinationv1.Lease) { l.UID = "" })

	_, create := client.Create(t.Context(), &l, metav1.CreateOptions{})
	_, update := client.Update(t.Context(), &l, metav1.UpdateOptions{})
	_, patch := client.Patch(t.Context(), l.Name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	one := client.Delete(t.Context(), l.Name, metav1.DeleteOptions{})
	all := client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})

	for _, err := range []error{create, update, patch, one, all} {
		g.Expect(err).To(MatchError(HaveSuffix("this client may not write")))
	}
}

func TestUnthrottledHasNoLimitOfRequestsAndOneOfTime(t *testing.T) {
	g := NewWithT(t)
	given := &rest.Config{Host: "https://c1.hcp.example.com", QPS: 5, Burst: 10}

	cfg := kube.Unthrottled(given)

	g.Expect(cfg.QPS).To(BeNumerically("<", 0))
	g.Expect(cfg.Timeout).To(Equal(kube.RequestTimeout))
	g.Expect(given.QPS).To(BeEquivalentTo(5), "the given config stays as it is")
	g.Expect(given.Timeout).To(BeZero())

	given.Timeout = time.Minute
	g.Expect(kube.Unthrottled(given).Timeout).To(Equal(time.Minute), "a time that was chosen stays")
}
