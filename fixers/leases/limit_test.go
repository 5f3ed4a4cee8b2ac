package leases_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
)

func TestMaxDeletionsIsTheLastNumberThatIsDeleted(t *testing.T) {
	for name, row := range map[string]struct{ limit, orphans int }{
		"at a limit":          {3, 3},
		"under a limit":       {3, 2},
		"over a limit":        {3, 4},
		"at the default":      {0, 20},
		"over the default":    {0, 21},
		"at a limit of one":   {1, 1},
		"over a limit of one": {1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := startCluster(t, orphans(row.orphans)...)
			f, record := c.fixer(func(o *leases.Options) { o.MaxDeletions = row.limit })
			limit := row.limit
			if limit == 0 {
				limit = 20
			}

			outcome, err := f.Fix(t.Context())

			g.Expect(outcome.Results).To(HaveLen(row.orphans))
			if row.orphans <= limit {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(outcome.Count(fixers.Deleted)).To(Equal(row.orphans))
				g.Expect(c.left()).To(BeEmpty())
				return
			}
			reason := fmt.Sprintf("there are %d orphaned leases, and one run may delete at most %d: look at them, then allow it with --max-deletions %d", row.orphans, limit, row.orphans)
			g.Expect(err).To(MatchError(fixers.ErrRefused))
			g.Expect(outcome.Refused).To(ConsistOf(reason))
			g.Expect(outcome.Results).To(HaveEach(And(HaveField("Action", fixers.Kept), HaveField("Why", "refused to fix: "+reason))))
			g.Expect(outcome.RestoreFile).To(BeEmpty())
			g.Expect(c.deleted()).To(BeEmpty(), "none at all, not the first few")
			g.Expect(files(t, record.Dir)).To(ConsistOf(fixers.AuditFile))
			g.Expect(decisions(t, outcome.AuditFile)).To(And(HaveLen(row.orphans), HaveEach(And(
				HaveField("Decision", "keep"), HaveField("Result", "kept"), HaveField("Error", "refused to fix: "+reason),
			))))
		})
	}
}
