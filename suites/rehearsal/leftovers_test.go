package rehearsal

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// This suite is itself rehearsed: however it ends, its clusters go with it, and
// the logs of one on which a rehearsal failed stay.
var _ = Describe("The rehearsals", func() {
	It("leave no process and no folder behind, whether they pass, fail, or are interrupted", SpecTimeout(timeouts.Upgrade), func(ctx SpecContext) {
		binary := filepath.Join(GinkgoT().TempDir(), "rehearsal.test")
		out, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-c", "-o", binary, ".").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "compile the rehearsals:\n%s", out)
		const healthy, outlined = "passes on a healthy mesh$", "has, for every spec"
		for _, run := range []struct {
			name, focus string
			path        string // of programs, in place of this process's
			interrupt   bool
			succeeds    bool
		}{
			{name: "passes", focus: healthy, succeeds: true},
			{name: "fails", focus: outlined, path: pathWithoutTools()},
			{name: "is interrupted", focus: healthy, interrupt: true},
		} {
			temp, err := os.MkdirTemp("", "leftovers-")
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(os.RemoveAll, temp)
			var output bytes.Buffer
			logs := filepath.Join(GinkgoT().TempDir(), "logs")
			command := exec.CommandContext(ctx, binary, "--cluster", "embedded", "--logs", logs, "--ginkgo.no-color", "--ginkgo.focus", run.focus)
			command.Env = append(os.Environ(), "TMPDIR="+temp)
			if run.path != "" {
				command.Env = append(command.Env, "PATH="+run.path)
			}
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
			if run.name == "fails" {
				Expect(filepath.Join(logs, "cluster-1", "kube-apiserver.log")).To(BeAnExistingFile(), "a log of a run that %s:\n%s", run.name, output.String())
			} else {
				Expect(logs).NotTo(BeAnExistingFile(), "logs of a run that %s", run.name)
			}
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

// pathWithoutTools returns a search path on which go has no tools: the
// rehearsal that compares the table with `ginkgo outline` fails there.
func pathWithoutTools() string {
	GinkgoHelper()
	program, err := exec.LookPath("go")
	Expect(err).NotTo(HaveOccurred(), "find go")
	dir := GinkgoT().TempDir()
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = tool ] && exit 1\nexec '%s' \"$@\"\n", program)
	Expect(os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755)).To(Succeed(), "write a go without tools")
	return dir + string(filepath.ListSeparator) + os.Getenv("PATH")
}
