package fixers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

// readAudit decodes every line of an audit file.
func readAudit(t *testing.T, path string) []fixers.Decision {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 0 && !strings.HasSuffix(string(text), "\n") {
		t.Errorf("the last line is not ended: %s", text)
	}
	var all []fixers.Decision
	for line := range strings.Lines(string(text)) {
		var d fixers.Decision
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v in the line %s", err, line)
		}
		all = append(all, d)
	}
	return all
}

func TestAuditHasOneLineForEachDecision(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	r := &fixers.Record{Dir: dir, Who: "me@host", Cluster: "/subscriptions/s"}
	planned := fixers.Decision{
		Time: time.Unix(0, 0), Who: "somebody", Cluster: "elsewhere",
		Object: "lease a", Namespace: "ns", UID: "u", ResourceVersion: "7", Evidence: []string{"two\nlines", `a "quote"`}, Decision: "delete", Result: "planned",
	}
	failed := planned
	failed.Result, failed.Error = "failed", "denied:\nby a policy"
	began := time.Now()

	path, err := r.Audit(planned, failed)

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(path).To(Equal(filepath.Join(dir, "audit.jsonl")))
	lines := readAudit(t, path)
	g.Expect(lines).To(HaveLen(2))
	for i, want := range []fixers.Decision{planned, failed} {
		g.Expect(lines[i].Time).To(BeTemporally(">=", began.Truncate(time.Second)))
		g.Expect(lines[i].Time.Location()).To(Equal(time.UTC))
		want.Time, want.Who, want.Cluster = lines[i].Time, "me@host", "/subscriptions/s"
		g.Expect(lines[i]).To(Equal(want), "who, where and when are the record's to say")
	}
}

// Other programs read the lines: their names are an interface.
func TestAuditLineInJSON(t *testing.T) {
	g := NewWithT(t)
	path, err := (&fixers.Record{Dir: t.TempDir(), Who: "me", Cluster: "c"}).Audit(fixers.Decision{
		Object: "lease a", Namespace: "ns", UID: "u", ResourceVersion: "7", Evidence: []string{"e"}, Decision: "keep", Result: "kept",
	})
	g.Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	var line map[string]any
	g.Expect(json.Unmarshal(text, &line)).To(Succeed())
	g.Expect(line).To(HaveKey("time"))
	delete(line, "time")
	g.Expect(line).To(Equal(map[string]any{
		"who": "me", "cluster": "c", "object": "lease a", "namespace": "ns", "uid": "u", "resourceVersion": "7",
		"evidence": []any{"e"}, "decision": "keep", "result": "kept",
	}))
}

func TestAuditGoesOnInTheFileOfEarlierRuns(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	for n := range 3 {
		_, err := (&fixers.Record{Dir: dir}).Audit(fixers.Decision{Object: fmt.Sprint(n)})
		g.Expect(err).NotTo(HaveOccurred())
	}
	var objects []string
	for _, d := range readAudit(t, filepath.Join(dir, fixers.AuditFile)) {
		objects = append(objects, d.Object)
	}
	g.Expect(objects).To(Equal([]string{"0", "1", "2"}))
}

// Two runs may have one folder, and a run audits from many goroutines.
func TestAuditsAtTheSameTimeDoNotMix(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	records := []*fixers.Record{{Dir: dir}, {Dir: dir}}
	const callers, decisions = 20, 7
	var group sync.WaitGroup
	start := make(chan struct{})
	for caller := range callers {
		group.Go(func() {
			var all []fixers.Decision
			for n := range decisions {
				all = append(all, fixers.Decision{Object: fmt.Sprint(caller), Evidence: []string{fmt.Sprint(n), strings.Repeat("x", 3000)}})
			}
			<-start
			if _, err := records[caller%2].Audit(all...); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	group.Wait()

	lines := readAudit(t, filepath.Join(dir, fixers.AuditFile))

	g.Expect(lines).To(HaveLen(callers * decisions))
	for i, d := range lines {
		first := lines[i-i%decisions]
		g.Expect(d.Object).To(Equal(first.Object), "the lines of one call stand together")
		g.Expect(d.Evidence[0]).To(Equal(fmt.Sprint(i % decisions)))
	}
}
