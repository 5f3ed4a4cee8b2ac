package kube_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

const (
	core       = "/api/v1/namespaces/aks-istio-system"
	review     = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	leasesPath = "/apis/coordination.k8s.io/v1/namespaces/aks-istio-system/leases"
	leasePath  = leasesPath + "/istio-gateway-deployment-asm-1-28"
)

// way is how far a request gets.
type way struct{ readOnly, leaseDeleter bool }

var (
	everyone    = way{true, true}
	deleterOnly = way{false, true}
	nobody      = way{false, false}
)

func TestGuardLetsThrough(t *testing.T) {
	for name, row := range map[string]struct {
		request string
		change  func(*http.Request)
		want    way
	}{
		"a list":                     {"GET " + leasesPath, nil, everyone},
		"a page of a list":           {"GET " + leasesPath + "?limit=500&continue=x%2Fy", nil, everyone},
		"a watch":                    {"GET " + leasesPath + "?watch=true", nil, everyone},
		"one object":                 {"GET " + leasePath, nil, everyone},
		"the head of a list":         {"HEAD " + leasesPath, nil, everyone},
		"a pod's log":                {"GET " + core + "/pods/p/log", nil, everyone},
		"discovery":                  {"GET /apis", nil, everyone},
		"the root":                   {"GET /", nil, everyone},
		"a review of its own access": {"POST " + review, nil, everyone},

		"the deletion of one lease": {"DELETE " + leasePath, nil, deleterOnly},

		"a creation":                  {"POST " + leasesPath, nil, nobody},
		"an update":                   {"PUT " + leasePath, nil, nobody},
		"a patch":                     {"PATCH " + leasePath, nil, nobody},
		"the deletion of all leases":  {"DELETE " + leasesPath, nil, nobody},
		"the deletion of some leases": {"DELETE " + leasesPath + "?labelSelector=app%3Dx", nil, nobody},
		"the deletion of a pod":       {"DELETE " + core + "/pods/p", nil, nobody},
		"the deletion of a namespace": {"DELETE " + core, nil, nobody},
		"a method in lower case":      {"get " + leasesPath, nil, nobody},
		"a deletion in lower case":    {"delete " + leasePath, nil, nobody},
		"OPTIONS":                     {"OPTIONS " + leasesPath, nil, nobody},

		"exec":                       {"GET " + core + "/pods/p/exec?command=rm", nil, nobody},
		"exec by POST":               {"POST " + core + "/pods/p/exec?command=rm", nil, nobody},
		"attach":                     {"GET " + core + "/pods/p/attach", nil, nobody},
		"portforward":                {"GET " + core + "/pods/p/portforward", nil, nobody},
		"a pod through the proxy":    {"GET " + core + "/pods/p/proxy", nil, nobody},
		"a path through the proxy":   {"GET " + core + "/services/s/proxy/quit", nil, nobody},
		"a node through the proxy":   {"GET /api/v1/nodes/n/proxy/run/ns/pod", nil, nobody},
		"the old way to the proxy":   {"GET /api/v1/proxy/nodes/n/run", nil, nobody},
		"an upgraded connection":     {"GET " + leasesPath, upgrade("Upgrade"), nobody},
		"an upgrade in lower case":   {"GET " + leasesPath, upgrade("upgrade"), nobody},
		"an upgraded deletion":       {"DELETE " + leasePath, upgrade("Upgrade"), nobody},
		"an upgraded access review":  {"POST " + review, upgrade("Upgrade"), nobody},
		"an eviction":                {"POST " + core + "/pods/p/eviction", nil, nobody},
		"a request for a token":      {"POST " + core + "/serviceaccounts/s/token", nil, nobody},
		"a review of other's access": {"POST /apis/authorization.k8s.io/v1/subjectaccessreviews", nil, nobody},
		"a local access review":      {"POST /apis/authorization.k8s.io/v1/namespaces/n/localsubjectaccessreviews", nil, nobody},
		"a review of rules":          {"POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews", nil, nobody},
		"a review of a token":        {"POST /apis/authentication.k8s.io/v1/tokenreviews", nil, nobody},
		"more than an access review": {"POST " + review + "/x", nil, nobody},
		"an access review by PUT":    {"PUT " + review, nil, nobody},

		"a lease of another namespace":     {"DELETE /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l", nil, nobody},
		"a lease of a longer namespace":    {"DELETE /apis/coordination.k8s.io/v1/namespaces/aks-istio-system-2/leases/l", nil, nobody},
		"a lease of no namespace":          {"DELETE /apis/coordination.k8s.io/v1/leases/l", nil, nobody},
		"a lease of another version":       {"DELETE /apis/coordination.k8s.io/v1beta1/namespaces/aks-istio-system/leases/l", nil, nobody},
		"a lease of another group":         {"DELETE /apis/example.com/v1/namespaces/aks-istio-system/leases/l", nil, nobody},
		"another resource of the group":    {"DELETE /apis/coordination.k8s.io/v1/namespaces/aks-istio-system/leasecandidates/l", nil, nobody},
		"another resource of the name":     {"DELETE " + core + "/leases/l", nil, nobody},
		"a subresource of a lease":         {"DELETE " + leasePath + "/status", nil, nobody},
		"the same path behind another one": {"DELETE /x" + leasePath, nil, nobody},
	} {
		t.Run(name, func(t *testing.T) { expectWay(t, row.request, row.change, row.want) })
	}
}

// What is judged must be what a server, or a proxy before it, understands.
func TestGuardRefusesEveryOtherSpellingOfAPath(t *testing.T) {
	for name, row := range map[string]struct {
		request string
		change  func(*http.Request)
	}{
		"a slash at the end":                {"DELETE " + leasePath + "/", nil},
		"a slash and no name":               {"DELETE " + leasesPath + "/", nil},
		"two slashes before the name":       {"DELETE " + leasesPath + "//l", nil},
		"two slashes at the start":          {"DELETE /" + leasePath, nil},
		"the name ..":                       {"DELETE " + leasesPath + "/..", nil},
		"the name .":                        {"DELETE " + leasesPath + "/.", nil},
		"a way up":                          {"DELETE " + leasesPath + "/../../kube-system/leases/l", nil},
		"a way up and back":                 {"DELETE " + leasesPath + "/../leases/l", nil},
		"the name .., encoded":              {"DELETE " + leasesPath + "/%2e%2e", nil},
		"the name .., half encoded":         {"DELETE " + leasesPath + "/.%2E", nil},
		"an encoded slash":                  {"DELETE " + leasePath + "%2Fstatus", nil},
		"an encoded way up":                 {"DELETE " + leasesPath + "/..%2F..%2Fkube-system%2Fleases%2Fl", nil},
		"a slash that is encoded twice":     {"DELETE " + leasePath + "%252Fstatus", nil},
		"a way up that is encoded twice":    {"DELETE " + leasesPath + "/%252e%252e", nil},
		"a backslash":                       {"DELETE " + leasesPath + "/..%5C..%5Cpods%5Cp", nil},
		"a null byte":                       {"DELETE " + leasePath + "%00", nil},
		"a line feed":                       {"DELETE " + leasePath + "%0A", nil},
		"an encoded question mark":          {"DELETE " + leasePath + "%3Fx", nil},
		"a path parameter":                  {"DELETE " + leasePath + ";x", nil},
		"every lease by a star":             {"DELETE " + leasesPath + "/*", nil},
		"a name in upper case":              {"DELETE " + leasesPath + "/L", nil},
		"a needlessly encoded letter":       {"DELETE " + strings.Replace(leasePath, "leases", "%6Ceases", 1), nil},
		"another path on the wire":          {"DELETE " + leasePath, onTheWire(core)},
		"another read on the wire":          {"GET " + leasePath, onTheWire(core + "/pods/p/proxy")},
		"another review on the wire":        {"POST " + review, onTheWire(core + "/pods")},
		"a read that hides the proxy":       {"GET " + core + "/pods/p/proxy/../../x", nil},
		"a read with the proxy encoded":     {"GET " + core + "/pods/p/%70roxy/x", nil},
		"a read with two slashes":           {"GET " + core + "/pods/p//proxy", nil},
		"a read with an encoded slash":      {"GET " + core + "/pods/p%2Fproxy", nil},
		"a read with a slash encoded twice": {"GET " + core + "/pods/p%252Fproxy", nil},
		"a read by a way up":                {"GET " + core + "/pods/../pods/p", nil},
		"a review at the end of a way up":   {"POST /apis/x/.." + strings.TrimPrefix(review, "/apis"), nil},
		"a review with a slash at its end":  {"POST " + review + "/", nil},
	} {
		t.Run(name, func(t *testing.T) { expectWay(t, row.request, row.change, nobody) })
	}
}

// The credential would go along.
func TestGuardFollowsNoAnswerThatLeadsAway(t *testing.T) {
	arrived := int32(0)
	elsewhere := countingServer(t, &arrived)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		t.Run(method, func(t *testing.T) {
			leading := httptest.NewServer(http.RedirectHandler(elsewhere.URL+leasePath, http.StatusTemporaryRedirect))
			defer leading.Close()
			err := send(t, kube.LeaseDeleter(&rest.Config{Host: leading.URL, BearerToken: "a-token"}, kube.MeshNamespace), method+" "+leasePath, nil)
			if err == nil || !strings.Contains(err.Error(), "leads away from "+leading.URL) || atomic.LoadInt32(&arrived) != 0 {
				t.Errorf("%d arrived, error %v", arrived, err)
			}
		})
	}
	t.Run("to another scheme", func(t *testing.T) {
		host := strings.TrimPrefix(elsewhere.URL, "http://")
		err := send(t, kube.ReadOnly(&rest.Config{Host: "https://" + host}), "GET "+leasesPath, func(r *http.Request) { r.URL.Scheme = "http" })
		if err == nil || !strings.Contains(err.Error(), "leads away from https://"+host) || atomic.LoadInt32(&arrived) != 0 {
			t.Errorf("%d arrived, error %v", arrived, err)
		}
	})
}

func TestGuardLeavesTheGivenConfigAlone(t *testing.T) {
	arrived := int32(0)
	server := countingServer(t, &arrived)
	cfg := &rest.Config{Host: server.URL}
	kube.ReadOnly(cfg)
	kube.LeaseDeleter(cfg, kube.MeshNamespace)

	if err := send(t, cfg, "DELETE "+core+"/pods/p", nil); err != nil || arrived != 1 {
		t.Errorf("a config that was only copied: error %v, %d arrived", err, arrived)
	}
}

func TestGuardKeepsTheTransportThatTheConfigWraps(t *testing.T) {
	arrived, wrapped := int32(0), 0
	server := countingServer(t, &arrived)
	cfg := &rest.Config{Host: server.URL}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		wrapped++
		return next
	})
	if err := send(t, kube.ReadOnly(cfg), "GET "+leasesPath, nil); err != nil || arrived != 1 || wrapped != 1 {
		t.Errorf("error %v, %d arrived, wrapped %d times", err, arrived, wrapped)
	}
}

func TestRefusalNamesTheRequest(t *testing.T) {
	arrived := int32(0)
	server := countingServer(t, &arrived)
	err := send(t, kube.ReadOnly(&rest.Config{Host: server.URL}), "DELETE "+leasePath, nil)
	if err == nil || !strings.Contains(err.Error(), "refused DELETE "+leasePath+": this client may not write") {
		t.Errorf("the refusal is %v", err)
	}
}

func upgrade(header string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header["Connection"], r.Header[header] = []string{"Upgrade"}, []string{"websocket"}
	}
}

// onTheWire sends path, whatever the URL's path is.
func onTheWire(path string) func(*http.Request) {
	return func(r *http.Request) { r.URL.Opaque = "//" + r.URL.Host + path }
}

// expectWay sends "METHOD path" through both guards, and looks at what arrives.
func expectWay(t *testing.T, request string, change func(*http.Request), want way) {
	t.Helper()
	arrived := int32(0)
	cfg := &rest.Config{Host: countingServer(t, &arrived).URL}
	for _, row := range []struct {
		guard string
		cfg   *rest.Config
		want  bool
	}{
		{"ReadOnly", kube.ReadOnly(cfg), want.readOnly},
		{"LeaseDeleter", kube.LeaseDeleter(cfg, kube.MeshNamespace), want.leaseDeleter},
	} {
		atomic.StoreInt32(&arrived, 0)
		err := send(t, row.cfg, request, change)
		if got := atomic.LoadInt32(&arrived); (got == 1) != row.want || (err == nil) != row.want {
			t.Errorf("%s: %d of %q arrived, error %v; let through is to be %v", row.guard, got, request, err, row.want)
		}
	}
}

func countingServer(t *testing.T, arrived *int32) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { atomic.AddInt32(arrived, 1) }))
	t.Cleanup(server.Close)
	return server
}

// send sends "METHOD target" to the server of cfg, and reads the answer.
func send(t *testing.T, cfg *rest.Config, request string, change func(*http.Request)) error {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	method, target, _ := strings.Cut(request, " ")
	u, err := url.Parse(cfg.Host + target)
	if err != nil {
		t.Fatal(err)
	}
	// The URL is set as it is: NewRequest would clean nothing, but parse again.
	r, err := http.NewRequestWithContext(t.Context(), method, cfg.Host, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL = u
	if change != nil {
		change(r)
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}
