package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
)

// run is one run of the post-upgrade suite, as its pipeline sees it.
type run struct {
	exit      int
	output    string
	artifacts string
	// verdicts are those of the specs that did not simply pass, by their text.
	verdicts map[string]string
	// firstLines are the first lines of failures and skips.
	firstLines map[string]string
	report     types.Report
}

// pipeline is how a pipeline calls the suite.
type pipeline struct {
	env  []string
	args []string
	// artifacts is the folder for what the run leaves.
	artifacts string
}

// as returns a pipeline that runs as who against the stage.
func (s *stage) as(ctx context.Context, who identity, args ...string) pipeline {
	GinkgoHelper()
	return pipeline{
		env: []string{
			"KUBECONFIG=" + writeKubeconfig(s.config(ctx, who)),
			"POSTFLIGHT_CLUSTER_ID=" + clusterID,
			"POSTFLIGHT_TARGET_REVISION=" + s.target,
			"POSTFLIGHT_ARM_ENDPOINT=" + s.arm.URL(),
		},
		args:      args,
		artifacts: GinkgoT().TempDir(),
	}
}

// run runs the suite as the identity that it needs.
func (s *stage) run(ctx context.Context, args ...string) run {
	GinkgoHelper()
	return s.as(ctx, needed(args), args...).run(ctx)
}

// needed is the identity with just the permissions for these flags.
func needed(args []string) identity {
	if slices.Contains(args, "--fix") {
		return fixer
	}
	return verifier
}

// command is the call, in an environment that has nothing of this one but what
// a program needs to start.
func (p pipeline) command(ctx context.Context) *exec.Cmd {
	command := exec.CommandContext(ctx, suiteBinary, slices.Concat(p.args, []string{
		"--artifacts", p.artifacts, "--ginkgo.no-color",
		"--ginkgo.json-report", p.path("report.json"), "--ginkgo.junit-report", p.path("junit.xml"),
	})...)
	command.Dir = p.artifacts
	command.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.artifacts}, p.env)
	return command
}

func (p pipeline) path(name string) string { return filepath.Join(p.artifacts, name) }

func (p pipeline) run(ctx context.Context) run {
	GinkgoHelper()
	var output bytes.Buffer
	command := p.command(ctx)
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	return p.result(err, output.String())
}

// result reads what a run that ended with err has left.
func (p pipeline) result(err error, output string) run {
	GinkgoHelper()
	AddReportEntry("output of the suite", output, ReportEntryVisibilityFailureOrVerbose)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		Expect(err).NotTo(HaveOccurred(), "run the suite")
	}
	r := run{output: output, artifacts: p.artifacts, verdicts: map[string]string{}, firstLines: map[string]string{}}
	if exit != nil {
		r.exit = exit.ExitCode()
	}
	for _, match := range summaryLine.FindAllStringSubmatch(output, -1) {
		r.verdicts[match[2]] = match[1]
	}
	raw, err := os.ReadFile(p.path("report.json"))
	if errors.Is(err, os.ErrNotExist) {
		return r // it ended before its first spec
	}
	Expect(err).NotTo(HaveOccurred(), "read the JSON report")
	var reports []types.Report
	Expect(json.Unmarshal(raw, &reports)).To(Succeed(), "decode the JSON report")
	Expect(reports).To(HaveLen(1), "one suite has run")
	r.report = reports[0]
	for _, spec := range r.report.SpecReports {
		if spec.LeafNodeType == types.NodeTypeIt && spec.Failure.Message != "" {
			r.firstLines[spec.FullText()], _, _ = strings.Cut(spec.Failure.Message, "\n")
		}
	}
	return r
}

// summaryLine is a verdict in the summary at the end of the output.
var summaryLine = regexp.MustCompile(`(?m)^((?:FIXED|FAIL|REFUSED|UNVERIFIED|SKIPPED)(?: \(warning\))?)  (.+)$`)

// file returns the text of a file that the run left in its artifacts folder.
func (r run) file(name string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(r.artifacts, name))
	Expect(err).NotTo(HaveOccurred(), "read an artifact")
	return string(text)
}
