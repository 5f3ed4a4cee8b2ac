package fixers_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

// blocked returns a folder's path that cannot be one, whoever asks: a part of
// it is a file.
func blocked(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(file, "artifacts")
}

// files are the names in a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRecordMakesItsFolder(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "a", "b")
	backup, err := (&fixers.Record{Dir: dir}).Backup(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(filepath.Dir(backup)).To(Equal(dir))
}

func TestRecordNamesItsFilesFromTheRoot(t *testing.T) {
	g := NewWithT(t)
	t.Chdir(t.TempDir())
	r := &fixers.Record{Dir: "artifacts"}
	backup, err := r.Backup(nil)
	g.Expect(err).NotTo(HaveOccurred())
	audit, err := r.Audit()
	g.Expect(err).NotTo(HaveOccurred())
	for _, path := range []string{backup, audit} {
		g.Expect(filepath.IsAbs(path)).To(BeTrue(), path)
		g.Expect(path).To(BeARegularFile())
	}
}

func TestRecordIsForItsOwnerOnly(t *testing.T) {
	g := NewWithT(t)
	r := &fixers.Record{Dir: t.TempDir()}
	backup, err := r.Backup(nil)
	g.Expect(err).NotTo(HaveOccurred())
	audit, err := r.Audit()
	g.Expect(err).NotTo(HaveOccurred())
	for _, path := range []string{backup, audit} {
		info, err := os.Stat(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode()).To(Equal(os.FileMode(0o600)), path)
	}
}

func TestRecordThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Run("the backup", func(t *testing.T) {
		g := NewWithT(t)
		_, err := (&fixers.Record{Dir: blocked(t)}).Backup(nil)
		g.Expect(err).To(MatchError(HavePrefix("open the backup: ")))
	})
	t.Run("the audit", func(t *testing.T) {
		g := NewWithT(t)
		_, err := (&fixers.Record{Dir: blocked(t)}).Audit(fixers.Decision{})
		g.Expect(err).To(MatchError(HavePrefix("open the audit file: ")))
	})
	t.Run("the audit, where a folder has its name", func(t *testing.T) {
		g := NewWithT(t)
		dir := t.TempDir()
		g.Expect(os.Mkdir(filepath.Join(dir, fixers.AuditFile), 0o700)).To(Succeed())
		_, err := (&fixers.Record{Dir: dir}).Audit(fixers.Decision{})
		g.Expect(err).To(MatchError(HavePrefix("open the audit file: ")))
	})
	t.Run("the audit, on a disk that is full", func(t *testing.T) {
		const full = "/dev/full"
		if _, err := os.Stat(full); err != nil {
			t.Skipf("no %s here", full)
		}
		g := NewWithT(t)
		dir := t.TempDir()
		g.Expect(os.Symlink(full, filepath.Join(dir, fixers.AuditFile))).To(Succeed())
		_, err := (&fixers.Record{Dir: dir}).Audit(fixers.Decision{})
		g.Expect(err).To(MatchError(HavePrefix("write ")))
	})
}
