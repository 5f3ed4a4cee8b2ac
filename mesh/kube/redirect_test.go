package kube_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

// A server that was proven must not send the client, and its credential, to one
// that was not.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var heard atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer elsewhere.Close()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	for name, guard := range map[string]func(*rest.Config) *rest.Config{
		"read-only": kube.ReadOnly,
		"deleting":  func(cfg *rest.Config) *rest.Config { return kube.LeaseDeleter(cfg, "aks-istio-system") },
	} {
		t.Run(name, func(t *testing.T) {
			client, err := rest.HTTPClientFor(guard(&rest.Config{Host: server.URL, BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := client.Get(server.URL + "/api/v1/namespaces/aks-istio-system/pods")
			if err == nil {
				_ = answer.Body.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "leads away from") {
				t.Errorf("got %v, want a refusal", err)
			}
			if heard.Load() != 0 {
				t.Error("the other server was asked")
			}
		})
	}
}
