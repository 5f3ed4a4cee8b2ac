package kube_test

import (
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

func rules(permissions []kube.Permission) []string {
	var all []string
	for _, p := range permissions {
		all = append(all, p.String())
	}
	return all
}

// reviewing answers access reviews: everything is allowed that denied does not
// hold.
func reviewing(t *testing.T, denied ...kube.Permission) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut off does not decode
		review := &authorizationv1.SelfSubjectAccessReview{}
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, review); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s of an access review: %v", r.Method, err)
			fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = !slices.Contains(denied, kube.Permission{Verb: a.Verb, Group: a.Group, Resource: a.Resource, Namespace: a.Namespace})
		respond(w, http.StatusCreated, review)
	}
}

func TestPermissionsReadAsRules(t *testing.T) {
	g := NewWithT(t)
	r := startAPIServer(t).reader()
	g.Expect(rules(r.ReadPermissions())).To(ConsistOf(
		`Role in aks-istio-system: {apiGroups: ["apps"], resources: ["deployments"], verbs: ["list"]}`,
		`Role in aks-istio-system: {apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["list"]}`,
		`Role in aks-istio-system: {apiGroups: [""], resources: ["pods"], verbs: ["list"]}`,
		`Role in aks-istio-system: {apiGroups: [""], resources: ["services"], verbs: ["list"]}`,
		`ClusterRole: {apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingwebhookconfigurations"], verbs: ["list"]}`,
	))
	g.Expect(rules(r.DeletePermissions())).To(ConsistOf(
		`Role in aks-istio-system: {apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["delete"]}`,
	))
}

// The permissions that are asked for are those that reading takes.
func TestReadPermissionsAreThoseThatReadingUses(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	r := s.reader()
	_, errLife := r.Life(t.Context())
	_, errLeases := r.ElectionLeases(t.Context())
	g.Expect(errLife).NotTo(HaveOccurred())
	g.Expect(errLeases).NotTo(HaveOccurred())
	used := 0
	for path := range kinds {
		if len(s.asked(path)) > 0 {
			used++
		}
	}
	g.Expect(r.ReadPermissions()).To(HaveLen(used))
}

func TestMissingNamesWhatIsDenied(t *testing.T) {
	for name, deny := range map[string]func(kube.Permission) bool{
		"nothing":    func(kube.Permission) bool { return false },
		"pods":       func(p kube.Permission) bool { return p.Resource == "pods" },
		"deletions":  func(p kube.Permission) bool { return p.Verb == "delete" },
		"a cluster":  func(p kube.Permission) bool { return p.Namespace == "" },
		"everything": func(kube.Permission) bool { return true },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			r := s.reader()
			needed := slices.Concat(r.ReadPermissions(), r.DeletePermissions())
			var denied []kube.Permission
			for _, p := range needed {
				if deny(p) {
					denied = append(denied, p)
				}
			}
			s.answer(review, reviewing(t, denied...))

			missing, err := r.Missing(t.Context(), needed)

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(missing).To(Equal(denied))
		})
	}
}

func TestMissingIsAnErrorWhenItCannotBeAsked(t *testing.T) {
	for name, row := range map[string]struct {
		code   int
		reason metav1.StatusReason
		times  int
	}{
		"denied": {403, metav1.StatusReasonForbidden, 1},
		"broken": {500, metav1.StatusReasonInternalError, kube.Attempts},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			r := s.reader()
			needed := slices.Concat(r.DeletePermissions(), r.ReadPermissions())
			var asked atomic.Int32
			s.answer(review, func(w http.ResponseWriter, req *http.Request) {
				if asked.Add(1) == 1 {
					reviewing(t, needed...)(w, req)
					return
				}
				fail(w, row.code, row.reason)
			})

			missing, err := r.Missing(t.Context(), needed)

			g.Expect(err).To(MatchError(HavePrefix("ask whether this identity may list deployments: ")))
			g.Expect(missing).To(BeEmpty(), "half an answer is none")
			g.Expect(asked.Load()).To(BeEquivalentTo(1 + row.times))
		})
	}
}

func TestMissingAsksAgainAndTellsEachPermissionOnce(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	r := s.reader()
	var asked atomic.Int32
	s.answer(review, func(w http.ResponseWriter, req *http.Request) {
		if asked.Add(1) == 1 {
			fail(w, 503, metav1.StatusReasonServiceUnavailable)
			return
		}
		reviewing(t, r.DeletePermissions()...)(w, req)
	})
	missing, err := r.Missing(t.Context(), r.DeletePermissions())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(missing).To(Equal(r.DeletePermissions()))
}
