package mesh

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// APIServer is the Kubernetes API server that a kubeconfig leads to.
type APIServer struct {
	// Name is the host name that the server must prove by its certificate.
	Name string `json:"name"`
	// Unproven says why the server need not prove its name (plain HTTP, or
	// insecure-skip-tls-verify); empty when it must.
	Unproven string `json:"unproven,omitempty"`
}

// NotOf returns why s cannot be said to be the API server of the cluster that
// i describes, or the empty string when it is. aliases are further names that
// the user vouches for.
func (s APIServer) NotOf(i Installation, aliases []string) string {
	known := slices.Concat(i.APIServerNames, aliases)
	same := func(name string) bool { return name != "" && strings.EqualFold(name, s.Name) }
	switch {
	case s.Unproven != "":
		return fmt.Sprintf("the kubeconfig does not make the API server %s prove its name: %s", s.Name, s.Unproven)
	case !slices.ContainsFunc(known, same):
		why := fmt.Sprintf("the kubeconfig leads to the API server %s, which is none of those that ARM names: %s", s.Name, cmp.Or(strings.Join(i.APIServerNames, ", "), "none"))
		if len(aliases) > 0 {
			why += fmt.Sprintf("; nor one that the user vouches for: %s", strings.Join(aliases, ", "))
		}
		return Printable(why)
	}
	return ""
}

// CheckAlias returns why a name that a user vouches for cannot prove which
// cluster an API server is of; nil when it can. Some names stand in the
// certificate of every API server, and addresses in networks apart are the same.
func CheckAlias(name string) error {
	plain := strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case net.ParseIP(name) != nil:
		return fmt.Errorf("%q is an address, which another network's cluster can have too; give a name, with tls-server-name in the kubeconfig", name)
	case len(validation.IsDNS1123Subdomain(plain)) > 0:
		return fmt.Errorf("%q is no host name", name)
	case slices.Contains(sharedNames, plain):
		return fmt.Errorf("%q is a name of every cluster's API server, and proves nothing", name)
	}
	return nil
}

// sharedNames stand in the certificate of every API server.
var sharedNames = []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"}
