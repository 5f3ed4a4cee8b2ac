package kube_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

const (
	deploymentsPath = "/apis/apps/v1/namespaces/aks-istio-system/deployments"
	servicesPath    = core + "/services"
	podsPath        = core + "/pods"
	webhooksPath    = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
)

// kinds are those of the lists that a reader asks for.
var kinds = map[string]string{
	leasesPath: "LeaseList", deploymentsPath: "DeploymentList", servicesPath: "ServiceList", podsPath: "PodList",
	webhooksPath: "MutatingWebhookConfigurationList",
}

// apiServer answers lists from memory, page by page, as the real one does.
type apiServer struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	objects  map[string][]any
	instead  map[string]http.HandlerFunc
	requests []string
}

func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{t: t, objects: map[string][]any{}, instead: map[string]http.HandlerFunc{}}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	s.server.StartTLS()
	t.Cleanup(s.server.Close)
	return s
}

// store fills the list at path.
func (s *apiServer) store(path string, objects ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = objects
}

// answer has handler answer the requests for path in place of the list.
func (s *apiServer) answer(path string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead[path] = handler
}

// asked returns the queries of the requests for path, in order.
func (s *apiServer) asked(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var queries []string
	for _, r := range s.requests {
		if query, ok := strings.CutPrefix(r, "GET "+path+"?"); ok {
			queries = append(queries, query)
		}
	}
	return queries
}

func (s *apiServer) config() *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	return &rest.Config{Host: s.server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func (s *apiServer) reader() *kube.Reader {
	s.t.Helper()
	r, err := kube.NewReader(s.config(), kube.MeshNamespace)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *apiServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
	instead, objects := s.instead[r.URL.Path], slices.Clone(s.objects[r.URL.Path])
	s.mu.Unlock()
	switch {
	case instead != nil:
		instead(w, r)
	case kinds[r.URL.Path] == "":
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		respond(w, http.StatusOK, page(r, objects))
	}
}

// page is the page of a list that r asks for. The token of the next one is the
// number of the objects before it.
func page(r *http.Request, objects []any) any {
	query := r.URL.Query()
	limit, from := number(query.Get("limit")), number(query.Get("continue"))
	to := len(objects)
	metadata := map[string]string{"resourceVersion": "7"}
	if limit > 0 && from+limit < to {
		to = from + limit
		metadata["continue"] = strconv.Itoa(to)
	}
	groupVersion, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/"), "/namespaces/")
	if path.Base(groupVersion) == path.Base(r.URL.Path) { // a list of the whole cluster
		groupVersion = path.Dir(groupVersion)
	}
	return map[string]any{"apiVersion": groupVersion, "kind": kinds[r.URL.Path], "metadata": metadata, "items": objects[from:to]}
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // none is 0
	return n
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	respond(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reason, Message: fmt.Sprintf("the message of %s", reason),
	})
}

func respond(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// failing answers each request with a Status.
func failing(code int, reason metav1.StatusReason) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fail(w, code, reason) }
}

// saying answers each request with 200 and body.
func saying(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}
