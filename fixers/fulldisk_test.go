package fixers_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

// onOwnProcess runs the test in a process of its own, since a limit of file sizes
// holds for everything that a process writes. It reports whether this is it.
func onOwnProcess(t *testing.T) bool {
	t.Helper()
	const variable = "POSTFLIGHT_TEST_FULL_DISK"
	if os.Getenv(variable) != "" {
		return true
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), variable+"=1")
	if output, err := command.CombinedOutput(); err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, output)
	}
	return false
}

// fillDisk makes every file end at n bytes, as on a disk that is full.
func fillDisk(t *testing.T, n uint64) (free func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := func(current uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: current, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
	}
	limit(n)
	return func() { limit(old.Cur) }
}

func TestTheAuditCanBeReadAfterAFullDisk(t *testing.T) {
	if !onOwnProcess(t) {
		return
	}
	g := NewWithT(t)
	dir := t.TempDir()
	audit := func(object string) (string, error) {
		return (&fixers.Record{Dir: dir}).Audit(fixers.Decision{Object: object, Decision: "delete", Result: "planned"})
	}
	_, err := audit("lease a")
	g.Expect(err).NotTo(HaveOccurred())
	free := fillDisk(t, 300)
	path, err := audit("lease b")
	free()
	g.Expect(err).To(MatchError(syscall.EFBIG))
	g.Expect(path).To(BeEmpty())
	path, err = audit("lease c")
	g.Expect(err).NotTo(HaveOccurred())

	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	var told []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var d fixers.Decision
		g.Expect(json.Unmarshal(lines.Bytes(), &d)).To(Succeed(), lines.Text())
		told = append(told, d.Object)
	}
	g.Expect(told).To(Equal([]string{"lease a", "lease c"}))
}

func TestABackupThatIsCutOffIsNone(t *testing.T) {
	if !onOwnProcess(t) {
		return
	}
	g := NewWithT(t)
	r := &fixers.Record{Dir: t.TempDir(), Cluster: "c"}
	free := fillDisk(t, 330)
	path, err := r.Backup(objects("a"))
	free()
	g.Expect(err).To(MatchError(syscall.EFBIG))
	g.Expect(path).To(BeEmpty())
	path, err = r.Backup(objects("b"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decode(t, path)).To(Equal(objects("b")))
}
