package rehearsal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/fixtures/clusters"
)

var _ = Describe("The requests of a run", func() {
	It("are at most ten on a healthy cluster, ARM's included", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "settled")
		proxy := s.throughProxy()
		Expect(s.run(ctx).exit).To(BeZero())
		api, arm := proxy.Requests(), s.arm.Journal()
		AddReportEntry("requests", fmt.Sprintf("%d to the API server, %d to ARM", len(api), len(arm)))
		Expect(api).NotTo(BeEmpty())
		Expect(arm).NotTo(BeEmpty())
		Expect(len(api)+len(arm)).To(BeNumerically("<=", 10), "%v %v", api, arm)
	})

	It("carry no credential to a faked ARM but the fake one", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "settled")
		p := s.as(ctx, verifier)
		p.env = append(p.env, "AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c", "AZURE_CLIENT_SECRET=secret")
		Expect(p.run(ctx).exit).To(BeZero())
		Expect(s.arm.Journal()).To(HaveEach(HaveField("Authorization", "Bearer postflight-fake-token")))
	})
})

// auditPolicy makes an API server log the metadata of every request.
const auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`

var _ = Describe("The API server's own audit", func() {
	It("shows no write without --fix, and with it only deletions of the mesh's leases", SpecTimeout(timeouts.Cluster), func(ctx SpecContext) {
		if *clusterKind != "embedded" {
			Skip("only the embedded cluster can be started with an audit log")
		}
		dir := GinkgoT().TempDir()
		policy, log := filepath.Join(dir, "policy.json"), filepath.Join(dir, "audit.log")
		Expect(os.WriteFile(policy, []byte(auditPolicy), 0o600)).To(Succeed())
		shared := cluster
		own, err := clusters.Start(ctx, clusters.NewEmbedded().WithProgress(GinkgoWriter).WithAPIServerArgs("--audit-policy-file="+policy, "--audit-log-path="+log), "audited")
		Expect(err).NotTo(HaveOccurred(), "start a cluster with an audit log")
		cluster = own
		DeferCleanup(func(ctx SpecContext) {
			cluster = shared
			Expect(own.Stop(ctx)).To(Succeed())
		})
		createIdentities(ctx)
		s := setUp(ctx, "retired-leases")

		Expect(s.run(ctx).exit).To(Equal(1))
		Expect(writesOf(log, verifier)).To(BeEmpty(), "writes of the read-only run")
		Expect(s.run(ctx, "--fix").exit).To(BeZero())
		var want []string
		for _, name := range orphansOf2728 {
			want = append(want, "delete leases "+meshNamespace+"/"+name)
		}
		Expect(writesOf(log, fixer)).To(ConsistOf(want), "writes of the run with --fix")
	})
})

// writesOf returns what an identity asked an API server to change, of all that
// its audit log has. An access review stores nothing.
func writesOf(log string, who identity) []string {
	GinkgoHelper()
	text, err := os.ReadFile(log)
	Expect(err).NotTo(HaveOccurred(), "read the audit log")
	var writes []string
	seen := 0
	for line := range strings.Lines(string(text)) {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, Namespace, Name string }
		}
		Expect(json.Unmarshal([]byte(line), &event)).To(Succeed())
		if event.User.Username != "system:serviceaccount:"+identityNamespace+":"+string(who) {
			continue
		}
		seen++
		reads := event.Verb == "get" || event.Verb == "list" || event.Verb == "watch"
		if !reads && event.ObjectRef.Resource != "selfsubjectaccessreviews" {
			writes = append(writes, fmt.Sprintf("%s %s %s/%s", event.Verb, event.ObjectRef.Resource, event.ObjectRef.Namespace, event.ObjectRef.Name))
		}
	}
	Expect(seen).To(BeNumerically(">", 5), "the audit has the requests of the %s", who)
	return writes
}

var _ = Describe("An admission policy", func() {
	It("that denies one deletion fails that one, while the others go on", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		deny(ctx, victim)
		result := s.run(ctx, "--fix")
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FIXED"}))
		Expect(result.output).To(ContainSubstring("lease " + victim + ": failed ("))
		Expect(result.output).To(ContainSubstring("ValidatingAdmissionPolicy 'protect-lease'"), "the policy is named")
		Expect(leases(ctx)).To(Equal(without(before, but(orphansOf2728, victim)...)))
	})
})

// deny makes the API server itself refuse to delete a lease, as AKS does in
// managed namespaces.
func deny(ctx SpecContext, name string) {
	GinkgoHelper()
	const policy = "protect-lease"
	c := client().AdmissionregistrationV1()
	exact := admissionv1.Exact
	_, err := c.ValidatingAdmissionPolicies().Create(ctx, &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policy},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &exact,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{
					ResourceNames: []string{name},
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Delete},
						Rule:       admissionv1.Rule{APIGroups: []string{"coordination.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"leases"}},
					},
				}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "managed namespaces are protected"}},
		},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "create the policy")
	_, err = c.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "bind the policy")
	tryDelete := func() error {
		return client().CoordinationV1().Leases(meshNamespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	}
	DeferCleanup(func(ctx SpecContext) {
		Expect(c.ValidatingAdmissionPolicyBindings().Delete(ctx, policy, metav1.DeleteOptions{})).To(Succeed())
		Expect(c.ValidatingAdmissionPolicies().Delete(ctx, policy, metav1.DeleteOptions{})).To(Succeed())
		Eventually(ctx, func() error {
			return client().CoordinationV1().Leases(meshNamespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		}).WithTimeout(timeouts.Propagation).Should(Succeed(), "the policy is gone")
	})
	Eventually(ctx, tryDelete).WithTimeout(timeouts.Propagation).Should(MatchError(apierrors.IsInvalid, "IsInvalid"), "the policy takes effect")
}
