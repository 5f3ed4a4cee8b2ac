package rehearsal

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/rehearsals.md in place of comparing it")

var _ = Describe("The table of rehearsals", func() {
	It("has, for every spec of the post-upgrade suite, one in which it alone fails", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		specs := outline(ctx)
		Expect(specs).To(HaveLen(10), "the specs of the suite")
		var alone []string
		for _, r := range rehearsals {
			var failed []string
			for spec, e := range r.verdicts {
				Expect(specs).To(ContainElement(spec), "the table names specs that exist")
				if e.verdict == "FAIL" {
					failed = append(failed, spec)
				}
			}
			if len(failed) == 1 {
				alone = append(alone, failed[0])
			}
		}
		for _, spec := range specs {
			Expect(alone).To(ContainElement(spec), "a rehearsal in which this spec alone fails")
		}
	})

	It("is what docs/rehearsals.md shows", func() {
		path := filepath.Join("..", "..", "docs", "rehearsals.md")
		if *updateDocs {
			Expect(os.WriteFile(path, []byte(tableAsMarkdown()), 0o644)).To(Succeed())
		}
		shown, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred(), "read the table's page")
		Expect(string(shown)).To(Equal(tableAsMarkdown()), "docs/rehearsals.md is old; write it anew with: make docs")
	})
})

// outline returns the text of every spec of the post-upgrade suite, as
// `ginkgo outline` reads it from the source.
func outline(ctx context.Context) []string {
	GinkgoHelper()
	files, err := filepath.Glob("../postupgrade/*_test.go")
	Expect(err).NotTo(HaveOccurred())
	type node struct {
		Name, Text string
		Nodes      []node
	}
	var specs []string
	var collect func(prefix string, nodes []node)
	collect = func(prefix string, nodes []node) {
		for _, n := range nodes {
			text := n.Text
			if n.Name == "When" {
				text = "when " + text
			}
			full := strings.TrimSpace(prefix + " " + text)
			if n.Name == "It" {
				specs = append(specs, full)
			}
			collect(full, n.Nodes)
		}
	}
	for _, file := range files {
		out, err := exec.CommandContext(ctx, "go", "tool", "ginkgo", "outline", "--format", "json", file).Output()
		if err != nil {
			continue // a file without specs
		}
		var nodes []node
		Expect(json.Unmarshal(out, &nodes)).To(Succeed(), "decode the outline of %s", file)
		collect("", nodes)
	}
	return specs
}

func tableAsMarkdown() string {
	var text strings.Builder
	text.WriteString(`# Rehearsals

A verifier is worth what its own verification is worth. Each rehearsal stages a situation on a throwaway cluster, runs the compiled post-upgrade suite as a pipeline would, and judges its exit code, its verdicts, and what is left in the cluster: every lease that is not listed as deleted must be the same object as before.

The table is made from ` + "`suites/rehearsal/table_test.go`" + `. To add one, add a row there, run ` + "`make docs`" + `, and break what it checks once to see it fail. Every spec of the suite needs a row in which it alone fails; a test compares the table with ` + "`ginkgo outline`" + `. Faults of the two APIs, interrupts, permissions, records and bad input are rehearsed in the files beside it.

Specs that a row does not name pass.

| the suite … | scenario | flags | exit | verdicts | leases deleted |
|---|---|---|---|---|---|
`)
	for _, r := range rehearsals {
		var verdicts []string
		for spec, e := range r.verdicts {
			verdicts = append(verdicts, fmt.Sprintf("%s: %s", e.verdict, spec))
		}
		slices.Sort(verdicts)
		fmt.Fprintf(&text, "| %s | %s | %s | %d | %s | %s |\n", r.name, r.scenario, code(strings.Join(r.args, " ")), r.exit, strings.Join(verdicts, "<br>"), strings.Join(r.deleted, "<br>"))
	}
	return text.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
