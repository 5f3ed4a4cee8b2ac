package leases_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
	"github.com/mesh-postflight/mesh-postflight/mesh"
)

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/aks-istio-system/leases"

// cluster is an API server with the leases of a mesh and its one control plane.
// It is also the owner who says what is installed.
type cluster struct {
	t      *testing.T
	server *httptest.Server

	mu           sync.Mutex
	leases       map[string]coordinationv1.Lease
	installation mesh.Installation
	asked        int // how often it was asked what is installed
	deletions    []deletion
	unreadable   string   // the list that is denied
	lists        []string // the paths of those that were asked for

	// onAsked is called when the owner is asked, with the number of the time.
	onAsked func(n int)
	// onDelete answers a deletion. By default it is done.
	onDelete func(w http.ResponseWriter, name string)
}

// deletion is a DELETE that arrived.
type deletion struct {
	name    string
	options metav1.DeleteOptions
}

var _ fixers.InstallationReader = (*cluster)(nil)

// startCluster runs a settled cluster with the leases.
func startCluster(t *testing.T, stored ...coordinationv1.Lease) *cluster {
	t.Helper()
	c := &cluster{t: t, leases: map[string]coordinationv1.Lease{}, installation: mesh.Installation{
		Source: "ARM serviceMeshProfile of c1", ProvisioningState: "Succeeded", PowerState: "Running", MeshMode: "Istio",
		Revisions: []string{"asm-1-29"}, APIServerNames: []string{"127.0.0.1"},
	}}
	c.onDelete = c.done
	for _, l := range stored {
		c.leases[l.Name] = l
	}
	c.server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	c.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that were not needed in the end
	c.server.StartTLS()
	t.Cleanup(c.server.Close)
	return c
}

func (c *cluster) Installation(ctx context.Context) (mesh.Installation, error) {
	c.mu.Lock()
	c.asked++
	n := c.asked
	c.mu.Unlock()
	if c.onAsked != nil {
		c.onAsked(n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.installation, ctx.Err()
}

// fixer returns a fixer of the cluster that records into a folder of its own.
func (c *cluster) fixer(modifiers ...func(*leases.Options)) (*leases.Fixer, *fixers.Record) {
	c.t.Helper()
	record := &fixers.Record{Dir: c.t.TempDir()}
	options := leases.Options{Target: "asm-1-29", Record: record, RecreationWait: time.Nanosecond}
	for _, modify := range modifiers {
		modify(&options)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	f, err := leases.New(c, &rest.Config{Host: c.server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, options)
	if err != nil {
		c.t.Fatal(err)
	}
	return f, record
}

func (c *cluster) serve(w http.ResponseWriter, r *http.Request) {
	name, one := strings.CutPrefix(r.URL.Path, leasesPath+"/")
	switch {
	case r.Method == http.MethodDelete && one:
		body, _ := io.ReadAll(r.Body) // what is cut off does not decode
		d := deletion{name: name}
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, &d.options); err != nil {
			c.t.Errorf("the body of a deletion: %v", err)
		}
		c.mu.Lock()
		c.deletions = append(c.deletions, d)
		c.mu.Unlock()
		c.onDelete(w, name)
	case r.Method == http.MethodGet:
		c.list(w, r.URL.Path)
	default:
		c.t.Errorf("%s %s arrived", r.Method, r.URL)
	}
}

func (c *cluster) list(w http.ResponseWriter, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists = append(c.lists, path)
	if c.unreadable != "" && strings.HasSuffix(path, c.unreadable) {
		answer(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	items := any([]any{})
	switch {
	case path == leasesPath:
		sorted := slices.Collect(maps.Values(c.leases))
		slices.SortFunc(sorted, func(a, b coordinationv1.Lease) int { return strings.Compare(a.Name, b.Name) })
		items = sorted
	case strings.HasSuffix(path, "/deployments"):
		items = []appsv1.Deployment{{
			ObjectMeta: metav1.ObjectMeta{Name: "istiod-asm-1-29", Generation: 1}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2},
		}}
	}
	respond(w, http.StatusOK, map[string]any{"metadata": map[string]string{"resourceVersion": "7"}, "items": items})
}

// done deletes a lease.
func (c *cluster) done(w http.ResponseWriter, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leases, name)
	respond(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
}

// deleted are the names whose deletion was asked for, sorted.
func (c *cluster) deleted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := []string{}
	for _, d := range c.deletions {
		names = append(names, d.name)
	}
	slices.Sort(names)
	return names
}

// left are the names of the leases that are there, sorted.
func (c *cluster) left() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.leases))
}

func answer(w http.ResponseWriter, code int, reason metav1.StatusReason) {
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

// orphans are n leases that killed istiods of n revisions left three hours ago.
func orphans(n int) []coordinationv1.Lease {
	var all []coordinationv1.Lease
	for i := range n {
		all = append(all, leaseOf(fmt.Sprintf("asm-0-%03d", i)))
	}
	return all
}

func leaseOf(revision string) coordinationv1.Lease {
	name := "istio-gateway-deployment-" + revision
	renewed := time.Now().Add(-3 * time.Hour)
	return coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "aks-istio-system", UID: types.UID("uid-of-" + name), ResourceVersion: "version-of-" + name,
			CreationTimestamp: metav1.Time{Time: renewed},
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "pilot-discovery", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: renewed}}},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("istiod-" + revision + "-7d9f5c6b8-x2x4z"), LeaseDurationSeconds: new(int32(30)), RenewTime: &metav1.MicroTime{Time: renewed},
		},
	}
}

func namesOf(all []coordinationv1.Lease) []string {
	names := []string{}
	for _, l := range all {
		names = append(names, l.Name)
	}
	return names
}
