package fixers_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

func lease(name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "aks-istio-system", Annotations: map[string]string{"text": "a: b\n---\n# c"}},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(""), LeaseDurationSeconds: new(int32(1)), LeaseTransitions: new(int32(3)),
			RenewTime: &metav1.MicroTime{Time: time.Date(2026, 7, 22, 10, 3, 0, 654321000, time.UTC)},
		},
	}
}

func objects(names ...string) []runtime.Object {
	var all []runtime.Object
	for _, name := range names {
		all = append(all, lease(name))
	}
	return all
}

// decode reads what `kubectl create -f` would create.
func decode(t *testing.T, path string) []runtime.Object {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []runtime.Object
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		l := &coordinationv1.Lease{}
		err := decoder.Decode(l)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if l.Name == "" { // the comment at the top
			continue
		}
		if l.Spec.RenewTime != nil {
			l.Spec.RenewTime = &metav1.MicroTime{Time: l.Spec.RenewTime.UTC()}
		}
		all = append(all, l)
	}
}

func TestBackupHoldsTheObjectsThemselves(t *testing.T) {
	g := NewWithT(t)
	r := &fixers.Record{Dir: t.TempDir(), Who: "me@host", Cluster: "/subscriptions/s"}

	path, err := r.Backup(objects("a", "b"))

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(decode(t, path)).To(Equal(objects("a", "b")))
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(HavePrefix("# What mesh-postflight set out to delete; audit.jsonl beside this tells what it did.\n#   cluster: /subscriptions/s\n#   by:      me@host\n# Restore with: kubectl create -f " + path + "\n---\n"))
}

func TestBackupsOfOneRecordAreOneFile(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	r := &fixers.Record{Dir: dir}
	first, err := r.Backup(objects("a"))
	g.Expect(err).NotTo(HaveOccurred())

	second, err := r.Backup(objects("b", "c"))

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second).To(Equal(first))
	g.Expect(decode(t, first)).To(Equal(objects("a", "b", "c")))
	g.Expect(files(t, dir)).To(ConsistOf(filepath.Base(first)))
}

func TestBackupsOfTwoRunsAreTwoFiles(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	paths := map[string]bool{}
	for range 5 {
		path, err := (&fixers.Record{Dir: dir}).Backup(objects("a"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(filepath.Base(path)).To(MatchRegexp(`^restore-\d{8}T\d{6}Z-\d+\.yaml$`))
		paths[path] = true
	}
	g.Expect(paths).To(HaveLen(5))
	for path := range paths {
		g.Expect(decode(t, path)).To(Equal(objects("a")), "no run wrote into the file of another")
	}
}

func TestBackupsAtTheSameTimeDoNotMix(t *testing.T) {
	g := NewWithT(t)
	r := &fixers.Record{Dir: t.TempDir()}
	var group sync.WaitGroup
	start := make(chan struct{})
	for range 8 {
		group.Go(func() {
			<-start
			if _, err := r.Backup(objects("a", "b", "c")); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	group.Wait()
	path, err := r.Backup(objects("d"))
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, o := range decode(t, path) {
		names = append(names, o.(*coordinationv1.Lease).Name)
	}
	g.Expect(strings.Join(names, "")).To(Equal(strings.Repeat("abc", 8) + "d"))
}

func TestBackupThatIsGoneIsAnErrorAndNoNewFile(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	r := &fixers.Record{Dir: dir}
	path, err := r.Backup(objects("a"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Remove(path)).To(Succeed())

	_, err = r.Backup(objects("b"))

	g.Expect(err).To(MatchError(HavePrefix("open the backup: ")))
	g.Expect(files(t, dir)).To(BeEmpty())
}

func TestBackupPutsNothingOfItsNamesBesideTheComment(t *testing.T) {
	g := NewWithT(t)
	r := &fixers.Record{Dir: t.TempDir(), Who: "me\n---\nkind: Pod", Cluster: "c\r\nkind: Pod"}
	path, err := r.Backup(objects("a"))
	g.Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	comment, _, _ := strings.Cut(string(text), "---\napi")
	for line := range strings.Lines(comment) {
		g.Expect(line).To(HavePrefix("#"))
	}
}

// unwritable is an object that has no YAML.
type unwritable struct {
	*coordinationv1.Lease
	Pipe chan int `json:"pipe"`
}

func TestBackupOfAnObjectThatCannotBeWrittenIsAnErrorAndNoFile(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	_, err := (&fixers.Record{Dir: dir}).Backup([]runtime.Object{lease("a"), unwritable{lease("b"), nil}})
	g.Expect(err).To(MatchError(HavePrefix("write a backup: ")))
	g.Expect(files(t, dir)).To(BeEmpty())
}
