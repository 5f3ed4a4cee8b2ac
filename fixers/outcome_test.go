package fixers_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
)

func outcome() fixers.Outcome {
	return fixers.Outcome{
		Refused: []string{"a reason"}, RestoreFile: "restore.yaml", AuditFile: "audit.jsonl", Error: "an error",
		Results: []fixers.Result{
			{Object: "lease a-1", UID: "1", Action: fixers.Deleted, Why: "orphaned"},
			{Object: "lease b-1", UID: "2", Action: fixers.Kept},
			{Object: "lease a-2", UID: "3", Action: fixers.Deleted},
		},
	}
}

func TestOfKeepsWhatBelongsAndEverythingElse(t *testing.T) {
	for name, row := range map[string]struct {
		prefix string
		want   []string
	}{
		"some": {"lease a-", []string{"lease a-1", "lease a-2"}},
		"one":  {"lease b-", []string{"lease b-1"}},
		"all":  {"", []string{"lease a-1", "lease b-1", "lease a-2"}},
		"none": {"lease c-", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			whole := outcome()
			own := whole.Of(func(r fixers.Result) bool { return strings.HasPrefix(r.Object, row.prefix) })
			var objects []string
			for _, r := range own.Results {
				objects = append(objects, r.Object)
			}
			g.Expect(objects).To(Equal(row.want))
			own.Results = whole.Results
			g.Expect(own).To(Equal(outcome()), "all but the results stays, and the whole is untouched")
		})
	}
}

func TestCountIsOfOneAction(t *testing.T) {
	g := NewWithT(t)
	g.Expect(outcome().Count(fixers.Deleted)).To(Equal(2))
	g.Expect(outcome().Count(fixers.Kept)).To(Equal(1))
	g.Expect(outcome().Count(fixers.Failed)).To(BeZero())
	g.Expect(fixers.Outcome{}.Count(fixers.Deleted)).To(BeZero())
}

// Reports carry outcomes as JSON: its names are an interface.
func TestOutcomeInJSON(t *testing.T) {
	g := NewWithT(t)
	text, err := json.Marshal(outcome())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(MatchJSON(`{
		"refused": ["a reason"], "restoreFile": "restore.yaml", "auditFile": "audit.jsonl", "error": "an error",
		"results": [
			{"object": "lease a-1", "uid": "1", "action": "deleted", "why": "orphaned"},
			{"object": "lease b-1", "uid": "2", "action": "kept"},
			{"object": "lease a-2", "uid": "3", "action": "deleted"}
		]}`))
	text, err = json.Marshal(fixers.Outcome{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(MatchJSON(`{}`))
}
