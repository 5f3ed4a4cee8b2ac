package kube

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"k8s.io/client-go/rest"
)

// ReadOnly returns a copy of cfg whose transport refuses every request that
// could change the cluster, before it leaves the process. The one POST that it
// lets through asks for a SelfSubjectAccessReview, which stores nothing.
func ReadOnly(cfg *rest.Config) *rest.Config {
	return guarded(cfg, func(*http.Request) bool { return false })
}

// LeaseDeleter returns a copy of cfg whose transport lets through, beside what
// ReadOnly does, the DELETE of one named Lease in namespace, and nothing else.
func LeaseDeleter(cfg *rest.Config, namespace string) *rest.Config {
	collection := "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases/"
	return guarded(cfg, func(req *http.Request) bool {
		name, ok := strings.CutPrefix(req.URL.Path, collection)
		return ok && req.Method == http.MethodDelete && name != "" && !strings.Contains(name, "/")
	})
}

func guarded(cfg *rest.Config, allowed func(*http.Request) bool) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if reads(req) || reviewsAccess(req) || allowed(req) {
				return next.RoundTrip(req)
			}
			return nil, fmt.Errorf("refused %s %s: this client may not write", req.Method, req.URL.Path)
		})
	})
	return cfg
}

// reads reports whether req can only read. A GET that upgrades the connection
// or goes through the API server to a pod, node or service can do anything.
func reads(req *http.Request) bool {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return false
	}
	if req.Header.Get("Upgrade") != "" {
		return false
	}
	for segment := range strings.SplitSeq(path.Clean(req.URL.Path), "/") {
		switch segment {
		case "exec", "attach", "portforward", "proxy":
			return false
		}
	}
	return true
}

func reviewsAccess(req *http.Request) bool {
	return req.Method == http.MethodPost && req.URL.Path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
}
