package kube

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// serverOf says to which API server cfg leads, and whether its name is proven.
func serverOf(cfg *rest.Config) (mesh.APIServer, error) {
	u, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return mesh.APIServer{}, fmt.Errorf("read the server of the kubeconfig: %w", err)
	}
	server := mesh.APIServer{Name: u.Hostname()}
	if cfg.ServerName != "" {
		server.Name = cfg.ServerName
	}
	switch {
	case u.Scheme != "https":
		server.Unproven = "it is reached without TLS"
	case cfg.Insecure:
		server.Unproven = "insecure-skip-tls-verify is set"
	}
	return server, nil
}

// maxSkew is by how much the API server's clock and this machine's may differ.
// One of the two is wrong then, or a proxy has changed the Date, and nothing
// tells which.
const maxSkew = time.Minute

// serverClock remembers the API server's time: the Date of its last answer.
type serverClock struct {
	mu   sync.Mutex
	last time.Time
}

func (c *serverClock) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			// An answer without a date leaves the time unknown, not stale.
			date, _ := http.ParseTime(resp.Header.Get("Date"))
			if time.Since(date).Abs() > maxSkew {
				date = time.Time{}
			}
			c.mu.Lock()
			c.last = date
			c.mu.Unlock()
		}
		return resp, err
	})
}

func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
