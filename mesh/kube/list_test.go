package kube_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func manyLeases(n int) []any {
	var all []any
	for i := range n {
		all = append(all, lease(fmt.Sprintf("istio-gateway-deployment-asm-1-%d", i)))
	}
	return all
}

func TestListsAreReadToTheirEnd(t *testing.T) {
	for _, n := range []int{499, 500, 501, 1000, 1203} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			s.store(leasesPath, manyLeases(n)...)

			found, err := s.reader().ElectionLeases(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.Leases).To(HaveLen(n))
			g.Expect(found.Objects).To(HaveLen(n), "no object comes twice")
			g.Expect(s.asked(leasesPath)).To(HaveLen((n+499)/500), "pages")
			g.Expect(s.asked(leasesPath)).To(HaveEach(ContainSubstring("limit=500")))
		})
	}
}

// secondPage fails with handler; the first one is answered.
func secondPage(objects []any, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("continue") {
			handler(w, r)
			return
		}
		respond(w, http.StatusOK, page(r, objects))
	}
}

func TestAPageThatFailsIsAnErrorAndNoShorterList(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"denied":    failing(403, metav1.StatusReasonForbidden),
		"expired":   failing(410, metav1.StatusReasonExpired),
		"broken":    failing(500, metav1.StatusReasonInternalError),
		"no JSON":   saying("<html>"),
		"cut off":   saying(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[`),
		"an object": saying(`{}`),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			s.answer(leasesPath, secondPage(manyLeases(501), handler))

			found, err := s.reader().ElectionLeases(t.Context())

			g.Expect(err).To(MatchError(HavePrefix("list leases in aks-istio-system: ")))
			g.Expect(found.Leases).To(BeEmpty())
			g.Expect(found.Objects).To(BeEmpty())
		})
	}
}

func TestAListStartsAgainAfterAPageThatFailed(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	failed := false
	s.answer(leasesPath, secondPage(manyLeases(501), func(w http.ResponseWriter, r *http.Request) {
		if !failed {
			failed = true
			fail(w, 500, metav1.StatusReasonInternalError)
			return
		}
		respond(w, http.StatusOK, page(r, manyLeases(501)))
	}))

	found, err := s.reader().ElectionLeases(t.Context())

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Leases).To(HaveLen(501))
	names := map[string]bool{}
	for _, l := range found.Leases {
		names[l.Name] = true
	}
	g.Expect(names).To(HaveLen(501), "no lease twice")
}

// client-go takes each of these for a list without items.
func TestAnAnswerThatIsNoListIsAnError(t *testing.T) {
	for name, body := range map[string]string{
		"an empty object":   `{}`,
		"a Status of well":  `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`,
		"a list of another": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"p"}}]}`,
		"one lease":         `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l","resourceVersion":"7"}}`,
		"nothing":           ``,
		"null":              `null`,
		"an empty array":    `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			s.answer(leasesPath, saying(body))
			_, err := s.reader().ElectionLeases(t.Context())
			g.Expect(err).To(MatchError(HavePrefix("list leases in aks-istio-system: ")))
			g.Expect(s.asked(leasesPath)).To(HaveLen(1), "another attempt would not help")
		})
	}
}

func TestErrorOfAListIsTheServers(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	s.answer(leasesPath, failing(403, metav1.StatusReasonForbidden))
	_, err := s.reader().ElectionLeases(t.Context())
	g.Expect(err).To(MatchError("list leases in aks-istio-system: the message of Forbidden"))
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "its cause can be asked for")
}

func TestNoPageIsLostWhenListsAreReadAtTheSameTime(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	s.store(leasesPath, manyLeases(750)...)
	r := s.reader()
	counts := make(chan int)
	for range 4 {
		go func() {
			found, err := r.ElectionLeases(t.Context())
			if err != nil {
				t.Error(err)
			}
			counts <- len(found.Leases)
		}()
	}
	var all []int
	for range 4 {
		all = append(all, <-counts)
	}
	g.Expect(slices.Compact(all)).To(Equal([]int{750}))
}
