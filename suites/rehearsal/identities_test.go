package rehearsal

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/e2e-framework/klient/decoder"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"
)

const (
	meshNamespace     = "aks-istio-system"
	identityNamespace = "mesh-postflight"
)

// identity is a ServiceAccount that the suite runs as: one of those whose
// manifests docs/permissions has, or one that a rehearsal makes.
type identity string

const (
	verifier identity = "verifier"
	fixer    identity = "fixer"
)

// createIdentities applies docs/permissions as a user would.
func createIdentities(ctx context.Context) {
	GinkgoHelper()
	_, err := client().CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: meshNamespace}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "create the mesh's namespace")
	for _, file := range []string{"verifier.yaml", "fixer.yaml"} {
		apply(ctx, filepath.Join("..", "..", "docs", "permissions"), file)
	}
	for _, who := range []identity{verifier, fixer} {
		asWho := client(who.config(ctx))
		Eventually(ctx, func() error {
			_, err := asWho.CoordinationV1().Leases(meshNamespace).List(ctx, metav1.ListOptions{})
			return err
		}).WithTimeout(timeouts.Propagation).Should(Succeed(), "the role of the %s takes effect", who)
	}
}

func apply(ctx context.Context, dir, file string) {
	GinkgoHelper()
	r, err := resources.New(cluster.RESTConfig)
	Expect(err).NotTo(HaveOccurred(), "make a client")
	Expect(decoder.DecodeEachFile(ctx, os.DirFS(dir), file, decoder.CreateHandler(r))).To(Succeed(), "apply %s", file)
}

// client returns a client of the cluster: the administrator's, or one of cfg.
func client(cfg ...*rest.Config) kubernetes.Interface {
	GinkgoHelper()
	chosen := cluster.RESTConfig
	if len(cfg) > 0 {
		chosen = cfg[0]
	}
	c, err := kubernetes.NewForConfig(chosen)
	Expect(err).NotTo(HaveOccurred(), "make a client")
	return c
}

// config returns the identity's way to the cluster: a token, and nothing of the
// administrator's.
func (i identity) config(ctx context.Context) *rest.Config {
	GinkgoHelper()
	answer, err := client().CoreV1().ServiceAccounts(identityNamespace).CreateToken(ctx, string(i), &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "get a token for the %s", i)
	cfg := rest.AnonymousClientConfig(cluster.RESTConfig)
	cfg.BearerToken = answer.Status.Token
	return cfg
}

// writeKubeconfig writes cfg, whose credential is a token, as a kubeconfig.
func writeKubeconfig(cfg *rest.Config) string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	file := clientcmdapi.NewConfig()
	file.Clusters["rehearsal"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthority: cfg.CAFile, CertificateAuthorityData: cfg.CAData, TLSServerName: cfg.ServerName}
	file.AuthInfos["pipeline"] = &clientcmdapi.AuthInfo{Token: cfg.BearerToken}
	file.Contexts["rehearsal"] = &clientcmdapi.Context{Cluster: "rehearsal", AuthInfo: "pipeline"}
	file.CurrentContext = "rehearsal"
	Expect(clientcmd.WriteToFile(*file, path)).To(Succeed(), "write a kubeconfig")
	return path
}
