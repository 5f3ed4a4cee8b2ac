package postupgrade

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfig loads the client configuration, and says who its user is.
func (e *environment) kubeconfig() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = e.flags.kubeconfig
	if e.fix && rules.ExplicitPath == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return nil, "", errors.New("is needed with --fix: no default decides where to delete")
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: e.context})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", err
	}
	name := cmp.Or(e.context, raw.CurrentContext)
	chosen, found := raw.Contexts[name]
	// Without this, a name that does not exist falls back to in-cluster or to
	// an empty configuration.
	if !found && (e.context != "" || len(raw.Contexts) > 0 || e.fix) {
		return nil, "", fmt.Errorf("has no context %q", name)
	}
	cfg, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", fmt.Errorf("no cluster is in %s, and this is no pod of one", strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	if err != nil {
		return nil, "", err
	}
	who := "in-cluster identity"
	if found {
		who = fmt.Sprintf("user %s of context %s", chosen.AuthInfo, name)
		if as := cfg.Impersonate.UserName; as != "" {
			who += " as " + as
		}
	}
	return cfg, who, nil
}

// userInfo is what stands before the host of a URL, and may be a password.
var userInfo = regexp.MustCompile(`//[^\s"]*@`)

// kubectl is the call of kubectl that means the same cluster as this run, up to
// its own arguments.
func (e *environment) kubectl() string {
	call := "kubectl"
	if e.flags.kubeconfig != "" {
		call += " --kubeconfig " + shellescape.Quote(e.flags.kubeconfig)
	}
	if e.context != "" {
		call += " --context " + shellescape.Quote(e.context)
	}
	return call
}

// az is a call of the Azure CLI on the cluster.
func (e *environment) az(command string) string {
	return fmt.Sprintf("az %s --resource-group %s --name %s", command, shellescape.Quote(e.id.ResourceGroup), shellescape.Quote(e.id.Name))
}
