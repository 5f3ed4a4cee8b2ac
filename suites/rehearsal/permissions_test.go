package rehearsal

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

// accessMissing is the first line of the spec that misses a permission.
const accessMissing = "This identity lacks permissions on the cluster. Add these rules (see docs/permissions):"

var _ = Describe("The permissions", Label(labelTable), func() {
	It("of the verifier do not let it delete, even when told to", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		result := s.as(ctx, verifier, "--fix").run(ctx)
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(Equal(map[string]string{access: "FAIL", gatewayLease: "FAIL", statusLease: "FAIL"}))
		Expect(result.firstLines).To(HaveKeyWithValue(access, accessMissing))
		Expect(result.output).To(ContainSubstring(`Role in aks-istio-system: {apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["delete"]}`))
		Expect(result.output).To(ContainSubstring("lease " + victim + ": failed ("))
		Expect(leases(ctx)).To(Equal(before))
	})

	It("of the fixer let it delete leases of the mesh and nothing more", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		setUp(ctx, "retired-leases")
		c := client(fixer.config(ctx))
		for what, try := range map[string]func() error{
			"delete another namespace's lease": func() error {
				return c.CoordinationV1().Leases("kube-system").Delete(ctx, "x", metav1.DeleteOptions{})
			},
			"delete every lease": func() error {
				return c.CoordinationV1().Leases(meshNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			},
			"delete a pod": func() error {
				return c.CoreV1().Pods(meshNamespace).Delete(ctx, "x", metav1.DeleteOptions{})
			},
			"delete a Deployment": func() error {
				return c.AppsV1().Deployments(meshNamespace).Delete(ctx, "x", metav1.DeleteOptions{})
			},
			"create a ConfigMap": func() error {
				_, err := c.CoreV1().ConfigMaps(meshNamespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{})
				return err
			},
			"read a Secret": func() error {
				_, err := c.CoreV1().Secrets(meshNamespace).Get(ctx, "x", metav1.GetOptions{})
				return err
			},
			"delete a webhook": func() error {
				return c.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, "x", metav1.DeleteOptions{})
			},
			"change a lease": func() error {
				_, err := c.CoordinationV1().Leases(meshNamespace).Patch(ctx, victim, "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{})
				return err
			},
		} {
			Expect(try()).To(MatchError(apierrors.IsForbidden, "IsForbidden"), "to %s is forbidden", what)
		}
	})

	// Each rule of the verifier is taken away in turn.
	DescribeTable("are named one by one when they are missing",
		func(spec SpecContext, missing rbacv1.PolicyRule, rule string, verdicts map[string]string) {
			ctx, cancel := context.WithTimeout(spec, timeouts.Rehearsal)
			defer cancel()
			s := setUp(ctx, "settled")
			who := lacking(ctx, missing)
			result := s.as(ctx, who).run(ctx)
			Expect(result.exit).To(Equal(1))
			Expect(result.verdicts).To(Equal(verdicts))
			Expect(result.firstLines).To(HaveKeyWithValue(access, accessMissing))
			Expect(result.output).To(ContainSubstring(rule))
		},
		Entry("leases", listRule("coordination.k8s.io", "leases"), `{apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["list"]}`,
			map[string]string{access: "FAIL", gatewayLease: "UNVERIFIED", statusLease: "UNVERIFIED"}),
		Entry("deployments", listRule("apps", "deployments"), `{apiGroups: ["apps"], resources: ["deployments"], verbs: ["list"]}`,
			map[string]string{access: "FAIL", rolledOut: "UNVERIFIED", noOther: "UNVERIFIED"}),
		Entry("pods", listRule("", "pods"), `{apiGroups: [""], resources: ["pods"], verbs: ["list"]}`, map[string]string{access: "FAIL"}),
		Entry("services", listRule("", "services"), `{apiGroups: [""], resources: ["services"], verbs: ["list"]}`, map[string]string{access: "FAIL"}),
		Entry("webhooks", listRule("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
			`ClusterRole: {apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingwebhookconfigurations"], verbs: ["list"]}`, map[string]string{access: "FAIL"}),
	)

	It("on Azure are the two actions that the reader needs", func() {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "permissions", "azure-role.json"))
		Expect(err).NotTo(HaveOccurred(), "read the role")
		var role struct{ Actions, NotActions, DataActions []string }
		Expect(json.Unmarshal(text, &role)).To(Succeed())
		Expect(role.Actions).To(ConsistOf(aks.ReadActions()))
		Expect(role.DataActions).To(BeEmpty())
	})
})

func listRule(group, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"list"}}
}

// lacking makes an identity with all that the verifier may, but one.
func lacking(ctx context.Context, missing rbacv1.PolicyRule) identity {
	GinkgoHelper()
	const name = "lacking"
	var namespaced, wide []rbacv1.PolicyRule
	for _, rule := range []rbacv1.PolicyRule{
		listRule("apps", "deployments"), listRule("coordination.k8s.io", "leases"), listRule("", "pods"), listRule("", "services"),
	} {
		if rule.Resources[0] != missing.Resources[0] {
			namespaced = append(namespaced, rule)
		}
	}
	if webhooks := listRule("admissionregistration.k8s.io", "mutatingwebhookconfigurations"); missing.Resources[0] != webhooks.Resources[0] {
		wide = append(wide, webhooks)
	}
	subject := []rbacv1.Subject{{Kind: "ServiceAccount", Name: name, Namespace: identityNamespace}}
	meta := metav1.ObjectMeta{Name: name, Namespace: meshNamespace}
	c := client()
	_, err := c.CoreV1().ServiceAccounts(identityNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "create the identity")
	_, err = c.RbacV1().Roles(meshNamespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: namespaced}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "create its role")
	_, err = c.RbacV1().RoleBindings(meshNamespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "bind its role")
	_, err = c.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: wide}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "create its cluster role")
	_, err = c.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subject, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "bind its cluster role")
	DeferCleanup(func(ctx SpecContext) {
		Expect(c.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		Expect(c.RbacV1().ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		Expect(c.RbacV1().RoleBindings(meshNamespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		Expect(c.RbacV1().Roles(meshNamespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
		Expect(c.CoreV1().ServiceAccounts(identityNamespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	})
	asWho := client(identity(name).config(ctx))
	// The last rule of the roles decides: when it works, all do.
	Eventually(ctx, func() error {
		_, wideErr := asWho.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
		_, podErr := asWho.CoreV1().Pods(meshNamespace).List(ctx, metav1.ListOptions{})
		_, deployErr := asWho.AppsV1().Deployments(meshNamespace).List(ctx, metav1.ListOptions{})
		failed := 0
		for _, err := range []error{wideErr, podErr, deployErr} {
			if err != nil {
				failed++
			}
		}
		if failed > 1 {
			return wideErr
		}
		return nil
	}).WithTimeout(timeouts.Propagation).Should(Succeed(), "the roles take effect")
	return name
}
