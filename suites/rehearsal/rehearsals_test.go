package rehearsal

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// labelTable marks the rehearsals that are the same on every kind of cluster. The
// others are about the two APIs and the process, whatever runs behind them.
const labelTable = "table"

var _ = Describe("The post-upgrade suite", Label(labelTable), func() {
	for _, r := range rehearsals {
		It(r.name, SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
			s := setUp(ctx, r.scenario, r.objects...)
			if r.change != nil {
				r.change(ctx, s)
			}
			before := leases(ctx)

			who := needed(r.args)
			if r.identity != nil {
				who = r.identity(ctx)
			}
			result := s.as(ctx, who, r.args...).run(ctx)

			Expect(result.exit).To(Equal(r.exit), "exit code")
			verdicts, firstLines := map[string]string{}, map[string]string{}
			for spec, e := range r.verdicts {
				verdicts[spec] = e.verdict
				if e.says != "" {
					firstLines[spec] = strings.ReplaceAll(e.says, "SERVER", apiServerName())
				}
			}
			Expect(result.verdicts).To(Equal(verdicts), "verdicts in the summary")
			Expect(result.firstLines).To(Equal(firstLines), "first lines of failures and reasons")
			Expect(leases(ctx)).To(Equal(without(before, r.deleted...)), "leases afterwards, each the same object as before")
			for _, name := range r.deleted {
				Expect(result.file("audit.jsonl")).To(ContainSubstring(name), "the audit has every deletion")
			}
			if len(r.deleted) == 0 && r.exit == 1 && strings.Contains(strings.Join(r.args, " "), "--fix") {
				Expect(result.output).NotTo(ContainSubstring(": deleted"), "nothing is said to be deleted")
			}
		})
	}
})
