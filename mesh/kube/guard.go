package kube

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
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
		return ok && req.Method == http.MethodDelete && len(validation.IsDNS1123Subdomain(name)) == 0
	})
}

func guarded(cfg *rest.Config, allowed func(*http.Request) bool) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		server = &url.URL{} // to which no request leads
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			// An answer may redirect, and the credential would go along.
			if req.URL.Scheme != server.Scheme || req.URL.Host != server.Host {
				return nil, fmt.Errorf("refused %s %s: it leads away from %s://%s", req.Method, req.URL.Redacted(), server.Scheme, server.Host)
			}
			if plain(req) && (reads(req) || reviewsAccess(req) || allowed(req)) {
				return next.RoundTrip(req)
			}
			return nil, fmt.Errorf("refused %s %s: this client may not write", req.Method, req.URL.Path)
		})
	})
	return cfg
}

// plain reports whether req is for just the path that is judged here, and for
// no more than its answer. Another spelling of a path (a way up, an encoded
// slash) may mean another object to the server or to a proxy before it, and a
// connection that is upgraded can carry anything.
func plain(req *http.Request) bool {
	for name := range req.Header {
		if strings.EqualFold(name, "Upgrade") {
			return false
		}
	}
	u := req.URL
	return u.Opaque == "" && u.RawPath == "" && !strings.Contains(u.Path, "%") && path.Clean(u.Path) == u.Path
}

// reads reports whether req can only read. A GET that goes through the API
// server to a pod, node or service can do anything.
func reads(req *http.Request) bool {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return false
	}
	for segment := range strings.SplitSeq(req.URL.Path, "/") {
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
