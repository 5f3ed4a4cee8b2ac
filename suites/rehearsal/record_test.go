package rehearsal

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The record of a run with --fix", func() {
	It("restores what was deleted, and the suite finds it again", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		deleted := s.run(ctx, "--fix")
		Expect(deleted.exit).To(BeZero())
		files := restoreFiles(deleted.artifacts)
		Expect(files).To(HaveLen(1), "a run has one backup")
		Expect(deleted.output).To(ContainSubstring("restore with: kubectl create -f " + files[0]))
		Expect(deleted.output).To(ContainSubstring("audit: " + filepath.Join(deleted.artifacts, "audit.jsonl")))
		results := audited(deleted.file("audit.jsonl"))
		Expect(results).To(HaveLen(4))
		for _, name := range orphansOf2728 {
			Expect(results).To(HaveKeyWithValue(name, []string{"planned", "deleted"}))
		}

		restore(ctx, files[0])

		Expect(leases(ctx)).To(HaveLen(len(before)), "every lease is back")
		again := s.run(ctx, "--fix")
		Expect(again.exit).To(Equal(1))
		Expect(again.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FAIL"}), "they are found again")
		Expect(leases(ctx)).To(HaveLen(len(before)), "what a person has put back is kept")
	})

	It("is written before the first deletion, or nothing is deleted", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		p := s.as(ctx, fixer, "--fix")
		Expect(os.Mkdir(p.path("audit.jsonl"), 0o755)).To(Succeed(), "put something in the audit's way")
		result := p.run(ctx)
		Expect(result.exit).To(Equal(1))
		Expect(result.verdicts).To(Equal(map[string]string{gatewayLease: "FAIL", statusLease: "FAIL"}))
		Expect(result.output).To(ContainSubstring("error: nothing was deleted: open the audit file"))
		Expect(leases(ctx)).To(Equal(before))
	})

	It("comes with commands that mean the cluster that was judged", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		config := s.config(ctx, fixer)
		kubeconfig := writeKubeconfig(config)
		p := s.as(ctx, fixer, "--kubeconfig", kubeconfig, "--context", "rehearsal")
		p.env = append(p.env, "KUBECONFIG=/no/such/file")
		found := p.run(ctx)
		Expect(found.exit).To(Equal(1))
		call := "kubectl --kubeconfig " + kubeconfig + " --context rehearsal "
		Expect(found.output).To(ContainSubstring(call + "-n aks-istio-system delete lease " + orphansOf2728[0] + " " + orphansOf2728[1]))
		Expect(found.output).To(ContainSubstring("API server  " + config.Host + ", named " + config.ServerName + " (user pipeline of context rehearsal)"))
		p.args = append(p.args, "--fix")
		fixed := p.run(ctx)
		Expect(fixed.output).To(ContainSubstring("restore with: " + call + "create -f " + restoreFiles(fixed.artifacts)[0]))
	})

	It("goes to the pipeline's summaries", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		p := s.as(ctx, fixer, "--fix")
		step := filepath.Join(GinkgoT().TempDir(), "step-summary")
		Expect(os.WriteFile(step, []byte("before\n"), 0o600)).To(Succeed())
		p.env = append(p.env, "GITHUB_STEP_SUMMARY="+step)
		result := p.run(ctx)
		Expect(result.exit).To(BeZero())
		appended, err := os.ReadFile(step)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(appended)).To(Equal("before\n" + result.file("summary.md")))
		Expect(result.file("summary.md")).To(And(ContainSubstring("PASS 8 · FIXED 2 · FAIL 0"), ContainSubstring("lease "+victim+": deleted")))
		Expect(result.file("junit.xml")).To(And(ContainSubstring(`<property name="finding" value=`), ContainSubstring(`<property name="outcome" value=`)))
		Expect(result.file("report.json")).To(ContainSubstring(`"Name": "outcome"`))
	})
})

func restoreFiles(artifacts string) []string {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(artifacts, "restore-*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	return files
}

// restore does what the summary says: kubectl create -f. Where there is no
// kubectl, the same requests are made without it.
func restore(ctx context.Context, file string) {
	GinkgoHelper()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		AddReportEntry("there is no kubectl: restored through client-go")
		apply(ctx, filepath.Dir(file), filepath.Base(file))
		return
	}
	out, err := exec.CommandContext(ctx, kubectl, "--kubeconfig", cluster.Kubeconfig, "create", "-f", file).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "kubectl create -f:\n%s", out)
}
