package rehearsal

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// This suite is itself rehearsed: however it ends, its clusters go with it.
var _ = Describe("The rehearsals", func() {
	It("leave no process and no folder behind, whether they pass, fail, or are interrupted", SpecTimeout(timeouts.Upgrade), func(ctx SpecContext) {
		binary := filepath.Join(GinkgoT().TempDir(), "rehearsal.test")
		out, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-c", "-o", binary, ".").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "compile the rehearsals:\n%s", out)
		for _, run := range []struct {
			name      string
			args      []string
			interrupt bool
			succeeds  bool
		}{
			{name: "passes", succeeds: true},
			{name: "fails", args: []string{"--ginkgo.timeout=1ms"}},
			{name: "is interrupted", interrupt: true},
		} {
			temp, err := os.MkdirTemp("", "leftovers-")
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(os.RemoveAll, temp)
			var output bytes.Buffer
			command := exec.CommandContext(ctx, binary, append(run.args, "--cluster", "embedded", "--ginkgo.no-color", "--ginkgo.focus", "passes on a healthy mesh$")...)
			command.Env = append(os.Environ(), "TMPDIR="+temp)
			command.Stdout, command.Stderr = &output, &output
			Expect(command.Start()).To(Succeed())
			if run.interrupt {
				Eventually(ctx, func() ([]string, error) {
					return filepath.Glob(filepath.Join(temp, "mesh-postflight-rehearsal-*", "kube-apiserver.log"))
				}).WithTimeout(timeouts.Cluster).ShouldNot(BeEmpty(), "a cluster is being started")
				Expect(command.Process.Signal(syscall.SIGINT)).To(Succeed())
			}
			err = command.Wait()
			Expect(err == nil).To(Equal(run.succeeds), "a run that %s: %v\n%s", run.name, err, output.String())
			left, err := os.ReadDir(temp)
			Expect(err).NotTo(HaveOccurred())
			Expect(left).To(BeEmpty(), "folders of a run that %s", run.name)
			// Every process of a cluster is called with its folder.
			processes, err := exec.CommandContext(ctx, "ps", "-axww", "-o", "args").Output()
			Expect(err).NotTo(HaveOccurred(), "list the processes")
			Expect(string(processes)).NotTo(ContainSubstring(temp), "processes of a run that %s", run.name)
		}
	})
})
