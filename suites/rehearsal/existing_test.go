package rehearsal

import (
	"context"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/decoder"
	"sigs.k8s.io/e2e-framework/klient/k8s"
	"sigs.k8s.io/e2e-framework/klient/k8s/resources"
)

// identityObjects calls handle with each object that createIdentities creates.
func identityObjects(ctx context.Context, handle decoder.HandlerFunc) {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: meshNamespace}}
	Expect(handle(ctx, namespace)).To(Succeed(), "namespace %s", meshNamespace)
	files := os.DirFS(filepath.Join("..", "..", "docs", "permissions"))
	for _, file := range []string{"verifier.yaml", "fixer.yaml"} {
		Expect(decoder.DecodeEachFile(ctx, files, file, handle)).To(Succeed(), "objects of %s", file)
	}
}

// expectNoIdentities makes sure that all that createIdentities creates is ours to
// remove: on a cluster that somebody uses it may be there already.
func expectNoIdentities(ctx context.Context) {
	GinkgoHelper()
	r, err := resources.New(cluster.RESTConfig)
	Expect(err).NotTo(HaveOccurred(), "make a client")
	identityObjects(ctx, func(ctx context.Context, object k8s.Object) error {
		err := r.Get(ctx, object.GetName(), object.GetNamespace(), object)
		Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"), "%T %s is there already, and is not ours to remove", object, object.GetName())
		return nil
	})
}

// removeIdentities removes what createIdentities created, and returns when it is
// gone.
func removeIdentities(ctx SpecContext) {
	r, err := resources.New(cluster.RESTConfig)
	Expect(err).NotTo(HaveOccurred(), "make a client")
	identityObjects(ctx, decoder.DeleteIgnoreNotFound(r))
	for _, name := range []string{meshNamespace, identityNamespace} {
		Eventually(ctx, func() error {
			_, err := client().CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			return err
		}).WithTimeout(timeouts.Removal).Should(MatchError(apierrors.IsNotFound, "IsNotFound"), "namespace %s is gone", name)
	}
}
