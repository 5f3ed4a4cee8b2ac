package leases_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// files are the names in a folder; none when it does not exist.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func decisions(t *testing.T, path string) []fixers.Decision {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []fixers.Decision
	for line := range strings.Lines(string(text)) {
		var d fixers.Decision
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

func TestNothingIsDeletedThatCannotBeRecorded(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, r *fixers.Record){
		"no folder": func(t *testing.T, r *fixers.Record) {
			file := filepath.Join(r.Dir, "file")
			NewWithT(t).Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())
			r.Dir = filepath.Join(file, "artifacts")
		},
		"no audit": spoilAudit,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := startCluster(t, orphans(2)...)
			f, record := c.fixer()
			spoil(t, record)

			outcome, err := f.Fix(t.Context())

			g.Expect(err).To(MatchError(HavePrefix("nothing was deleted: open the ")))
			g.Expect(err).NotTo(MatchError(fixers.ErrRefused))
			g.Expect(outcome.Error).To(Equal(err.Error()))
			g.Expect(outcome.Results).To(BeEmpty())
			g.Expect(c.deleted()).To(BeEmpty())
		})
	}
}

func TestNoFileIsWrittenWhereNothingIsRetired(t *testing.T) {
	for name, stored := range map[string][]coordinationv1.Lease{
		"no lease":        nil,
		"a current lease": {leaseOf("asm-1-29")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := startCluster(t, stored...)
			f, record := c.fixer()
			outcome, err := f.Fix(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(outcome).To(BeZero())
			g.Expect(c.deleted()).To(BeEmpty())
			g.Expect(files(t, record.Dir)).To(BeEmpty())
		})
	}
}

func TestWhatIsOnlyKeptIsAuditedAndNotBackedUp(t *testing.T) {
	g := NewWithT(t)
	marked := leaseOf("asm-1-28")
	marked.Finalizers = []string{"f/x"}
	c := startCluster(t, marked)
	f, record := c.fixer()

	outcome, err := f.Fix(t.Context())

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(outcome.Results).To(ConsistOf(fixers.Result{
		Object: "lease istio-gateway-deployment-asm-1-28", UID: string(marked.UID), Action: fixers.Kept, Why: "unclear: it has the finalizer f/x",
	}))
	g.Expect(outcome.RestoreFile).To(BeEmpty())
	g.Expect(files(t, record.Dir)).To(ConsistOf(fixers.AuditFile))
	g.Expect(decisions(t, outcome.AuditFile)).To(ConsistOf(And(HaveField("Decision", "keep"), HaveField("Result", "kept"), HaveField("Evidence", []string{"unclear", "it has the finalizer f/x"}))))
	g.Expect(c.deleted()).To(BeEmpty())
	g.Expect(c.asked).To(Equal(1), "where nothing is deleted, no second look is needed")
}

func TestBackupIsWrittenBeforeTheFirstDeletion(t *testing.T) {
	g := NewWithT(t)
	stored := orphans(3)
	c := startCluster(t, append(stored, leaseOf("asm-1-29"))...)
	f, record := c.fixer()
	c.onDelete = func(w http.ResponseWriter, name string) {
		restores, err := filepath.Glob(filepath.Join(record.Dir, "restore-*.yaml"))
		if err != nil || len(restores) != 1 {
			t.Errorf("the backups are %v, error %v", restores, err)
		} else if got := len(manifests(t, restores[0])); got != 3 {
			t.Errorf("%d leases are backed up", got)
		}
		planned := 0
		for _, d := range decisions(t, filepath.Join(record.Dir, fixers.AuditFile)) {
			if d.Decision == "delete" && d.Result == "planned" {
				planned++
			}
		}
		if planned != 3 {
			t.Errorf("%d deletions are planned in the audit", planned)
		}
		c.done(w, name)
	}

	outcome, err := f.Fix(t.Context())

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.left()).To(Equal([]string{"istio-gateway-deployment-asm-1-29"}))
	restored := manifests(t, outcome.RestoreFile)
	g.Expect(restored).To(HaveLen(3))
	for i, l := range restored {
		g.Expect(l.TypeMeta).To(Equal(metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}))
		g.Expect(l.ObjectMeta).To(Equal(metav1.ObjectMeta{Name: stored[i].Name, Namespace: "aks-istio-system"}), "nothing that only the API server may set")
		g.Expect(l.Spec.HolderIdentity).To(Equal(stored[i].Spec.HolderIdentity))
		g.Expect(l.Spec.LeaseDurationSeconds).To(Equal(stored[i].Spec.LeaseDurationSeconds))
		g.Expect(l.Spec.RenewTime.Time).To(BeTemporally("~", stored[i].Spec.RenewTime.Time, 1000))
	}
}

func manifests(t *testing.T, path string) []coordinationv1.Lease {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	var all []coordinationv1.Lease
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var l coordinationv1.Lease
		err := decoder.Decode(&l)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Error(err)
			return all
		}
		if l.Name != "" { // and not the comment at the top
			all = append(all, l)
		}
	}
}

func TestAuditHasThePlanAndWhatBecameOfIt(t *testing.T) {
	g := NewWithT(t)
	stored := orphans(2)
	c := startCluster(t, stored...)
	c.onDelete = func(w http.ResponseWriter, name string) {
		if name == stored[0].Name {
			answer(w, http.StatusForbidden, metav1.StatusReasonForbidden)
			return
		}
		c.done(w, name)
	}
	f, _ := c.fixer()

	outcome, err := f.Fix(t.Context())

	g.Expect(err).To(HaveOccurred())
	var lines []string
	for _, d := range decisions(t, outcome.AuditFile) {
		lines = append(lines, strings.Join([]string{d.Object, d.Namespace, d.UID, d.ResourceVersion, d.Evidence[0], d.Decision, d.Result, d.Error}, "|"))
	}
	line := func(l coordinationv1.Lease, rest string) string {
		return "lease " + l.Name + "|aks-istio-system|uid-of-" + l.Name + "|version-of-" + l.Name + "|" + string(mesh.Orphaned) + "|delete|" + rest
	}
	g.Expect(lines[:2]).To(Equal([]string{line(stored[0], "planned|"), line(stored[1], "planned|")}))
	g.Expect(lines[2:]).To(ConsistOf(line(stored[0], "failed|the message of Forbidden"), line(stored[1], "deleted|")))
}

// spoilAudit puts a folder in the place of the audit file.
func spoilAudit(t *testing.T, r *fixers.Record) {
	t.Helper()
	path := filepath.Join(r.Dir, fixers.AuditFile)
	if err := os.RemoveAll(path); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Error(err)
	}
}

func TestAResultThatCannotBeRecordedIsAnErrorBesideIt(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, orphans(1)...)
	f, record := c.fixer()
	c.onDelete = func(w http.ResponseWriter, name string) {
		spoilAudit(t, record)
		c.done(w, name)
	}
	outcome, err := f.Fix(t.Context())
	g.Expect(err).To(MatchError(HavePrefix("open the audit file: ")))
	g.Expect(outcome.Error).To(Equal(err.Error()))
	g.Expect(outcome.Count(fixers.Deleted)).To(Equal(1), "what was done stays told")
}

func TestARefusalThatCannotBeRecordedStaysOne(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, orphans(1)...)
	c.installation.ProvisioningState = "Updating"
	f, record := c.fixer()
	spoilAudit(t, record)
	outcome, err := f.Fix(t.Context())
	g.Expect(err).To(And(MatchError(fixers.ErrRefused), MatchError(ContainSubstring("open the audit file: "))))
	g.Expect(outcome.Refused).To(HaveLen(1))
	g.Expect(outcome.Error).To(HavePrefix("open the audit file: "), "the outcome alone tells it, too")
}

func TestNewRefusesBadOptionsAllAtOnce(t *testing.T) {
	const noTarget, noRecord = "it needs a target revision", "it needs a record"
	record := &fixers.Record{}
	for problem, options := range map[string]leases.Options{
		noTarget + "\n" + noRecord: {},
		noRecord:                   {Target: "asm-1-29"},
		noTarget:                   {Record: record},
		// A negative wait would skip the last look.
		"grace -1h0m0s, limit of deletions 0 and recreation wait 0s must not be negative": {Target: "asm-1-29", Record: record, Grace: -time.Hour},
		"grace 0s, limit of deletions -1 and recreation wait 0s must not be negative":     {Target: "asm-1-29", Record: record, MaxDeletions: -1},
		`"kubernetes." is a name of every cluster's API server, and proves nothing`:       {Target: "asm-1-29", Record: record, APIServerAliases: []string{"kubernetes."}},
		"grace 0s, limit of deletions 0 and recreation wait -10s must not be negative":    {Target: "asm-1-29", Record: record, RecreationWait: -10 * time.Second},
	} {
		_, err := leases.New(nil, nil, options)
		NewWithT(t).Expect(err).To(MatchError("make a lease fixer: " + problem))
	}
}
