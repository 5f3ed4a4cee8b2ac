// Package kube reads the facts of a mesh from the Kubernetes API.
//
// It only reads: nothing in it creates, changes or deletes an object, but the
// access reviews by which a client asks what it may do. A list that ends in an
// error is an error, never a shorter list.
package kube

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// MeshNamespace is where AKS's managed Istio add-on keeps its control planes
// and their leases (AKS documentation, "Deploy Istio-based service mesh
// add-on").
const MeshNamespace = "aks-istio-system"

// RequestTimeout bounds one request to the API server.
const RequestTimeout = 15 * time.Second

// Reader reads one cluster. Its methods may be called concurrently.
type Reader struct {
	client    kubernetes.Interface
	namespace string
	server    mesh.APIServer
	clock     *serverClock
}

// NewReader returns a reader of the mesh in namespace on the cluster of cfg. It
// connects to nothing yet. Its requests cannot change the cluster: see
// ReadOnly.
func NewReader(cfg *rest.Config, namespace string) (*Reader, error) {
	server, err := serverOf(cfg)
	if err != nil {
		return nil, err
	}
	clock := &serverClock{}
	cfg = ReadOnly(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return clock.watch(next) })
	client, err := kubernetes.NewForConfig(Unthrottled(cfg))
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", server.Name, err)
	}
	return &Reader{client: client, namespace: namespace, server: server, clock: clock}, nil
}

// Namespace is the mesh's namespace.
func (r *Reader) Namespace() string { return r.namespace }

// APIServer is the server that the reader's kubeconfig leads to.
func (r *Reader) APIServer() mesh.APIServer { return r.server }

// Unthrottled returns a copy of cfg without client-go's default limit of five
// requests a second, under which a list of leases takes minutes to delete. The
// API server's own fairness bounds us; each request is bounded in time. A
// server's warnings are not printed.
func Unthrottled(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	// client-go would print what a server warns of, as it comes.
	cfg.WarningHandler = rest.NoWarnings{}
	if cfg.Timeout == 0 {
		cfg.Timeout = RequestTimeout
	}
	return cfg
}

// ControlPlanes lists the istiod Deployments in the mesh's namespace, those
// without a revision among them as revision "default", which is what istiod
// calls itself then.
func (r *Reader) ControlPlanes(ctx context.Context) ([]mesh.ControlPlane, error) {
	deployments, err := r.deployments(ctx)
	if err != nil {
		return nil, err
	}
	var planes []mesh.ControlPlane
	for _, d := range deployments {
		if revision, ok := istiodRevision(d.ObjectMeta); ok {
			planes = append(planes, controlPlane(d, revision))
		}
	}
	return planes, nil
}
