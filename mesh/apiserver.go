package mesh

import (
	"fmt"
	"slices"
	"strings"
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
		why := fmt.Sprintf("the kubeconfig leads to the API server %s, which is none of those that ARM names: %s", s.Name, or(strings.Join(i.APIServerNames, ", "), "none"))
		if len(aliases) > 0 {
			why += fmt.Sprintf("; nor one that the user vouches for: %s", strings.Join(aliases, ", "))
		}
		return why
	}
	return ""
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
