package kube_test

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/mesh-postflight/mesh-postflight/mesh"
	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

func TestAPIServer(t *testing.T) {
	const noTLS, insecure = "it is reached without TLS", "insecure-skip-tls-verify is set"
	ca := startAPIServer(t).config().TLSClientConfig
	named := rest.TLSClientConfig{ServerName: "c1.hcp.example.com"}
	for name, row := range map[string]struct {
		host string
		tls  rest.TLSClientConfig
		want mesh.APIServer
	}{
		"https":                         {"https://c1.hcp.example.com", rest.TLSClientConfig{}, mesh.APIServer{Name: "c1.hcp.example.com"}},
		"https with a port":             {"https://c1.hcp.example.com:443", rest.TLSClientConfig{}, mesh.APIServer{Name: "c1.hcp.example.com"}},
		"https with a path":             {"https://c1.hcp.example.com:443/clusters/a", rest.TLSClientConfig{}, mesh.APIServer{Name: "c1.hcp.example.com"}},
		"https with a CA":               {"https://c1.hcp.example.com", ca, mesh.APIServer{Name: "c1.hcp.example.com"}},
		"an address":                    {"https://10.0.0.4:6443", rest.TLSClientConfig{}, mesh.APIServer{Name: "10.0.0.4"}},
		"an IPv6 address with a port":   {"https://[fd00::4]:6443", rest.TLSClientConfig{}, mesh.APIServer{Name: "fd00::4"}},
		"an IPv6 address":               {"https://[fd00::4]", rest.TLSClientConfig{}, mesh.APIServer{Name: "fd00::4"}},
		"another name to prove":         {"https://10.0.0.4:6443", named, mesh.APIServer{Name: "c1.hcp.example.com"}},
		"no verification":               {"https://c1.hcp.example.com", rest.TLSClientConfig{Insecure: true}, mesh.APIServer{Name: "c1.hcp.example.com", Unproven: insecure}},
		"another name, no verification": {"https://10.0.0.4", rest.TLSClientConfig{Insecure: true, ServerName: "c1.hcp.example.com"}, mesh.APIServer{Name: "c1.hcp.example.com", Unproven: insecure}},
		"http":                          {"http://127.0.0.1:8080", rest.TLSClientConfig{}, mesh.APIServer{Name: "127.0.0.1", Unproven: noTLS}},
		"http with another name":        {"http://127.0.0.1:8080", named, mesh.APIServer{Name: "c1.hcp.example.com", Unproven: noTLS}},
		"http with a CA":                {"http://127.0.0.1:8080", ca, mesh.APIServer{Name: "127.0.0.1", Unproven: noTLS}},
		"no scheme":                     {"c1.hcp.example.com:443", rest.TLSClientConfig{}, mesh.APIServer{Name: "c1.hcp.example.com", Unproven: noTLS}},
		"no scheme, but a CA":           {"c1.hcp.example.com:443", ca, mesh.APIServer{Name: "c1.hcp.example.com"}},
		"nothing":                       {"", rest.TLSClientConfig{}, mesh.APIServer{Name: "localhost", Unproven: noTLS}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := kube.NewReader(&rest.Config{Host: row.host, TLSClientConfig: row.tls}, "ns")
			if err != nil {
				t.Fatal(err)
			}
			if got := r.APIServer(); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
			if r.Namespace() != "ns" {
				t.Errorf("the namespace is %s", r.Namespace())
			}
		})
	}
}

func TestNewReaderRefusesAConfigThatLeadsNowhere(t *testing.T) {
	for name, cfg := range map[string]*rest.Config{
		"no URL":               {Host: "https://%zz"},
		"a CA that is no file": {Host: "https://c1.hcp.example.com", TLSClientConfig: rest.TLSClientConfig{CAFile: "no/such/file"}},
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := kube.NewReader(cfg, "ns"); err == nil || r != nil {
				t.Errorf("a reader of %s is %v, error %v", cfg.Host, r, err)
			}
		})
	}
}
