// Package postupgrade is the suite that a pipeline runs after an Istio revision
// upgrade. It asserts that the mesh is stable and that nothing of a retired
// revision remains. With --fix, a failing assertion that a fixer can repair
// calls it, and is made again.
//
// It is a black box: all that it knows is a kubeconfig and an ARM cluster ID.
package postupgrade

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// Labels of the specs.
const (
	// labelAccess: what the run needs before anything can be judged.
	labelAccess = "access"
	// labelStability: the mesh is settled.
	labelStability = "stability"
	// labelLeases: leader-election leases.
	labelLeases = "leases"
	// labelFixable: --fix can repair what the spec finds.
	labelFixable = "fixable"
)

var (
	options = registerFlags(flag.CommandLine)
	env     *environment
	// ran is true once Ginkgo has had the suite.
	ran bool
)

func TestMain(m *testing.M) {
	err := parse(flag.CommandLine, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mesh-postflight: nothing was read or changed: %v\nSee --help\n", err)
		os.Exit(1)
	}
	if env, err = newEnvironment(options, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 && !ran && flag.Lookup("test.list").Value.String() == "" {
		fmt.Fprintln(os.Stderr, "mesh-postflight: no spec was run, so nothing was verified: see the -test flags")
		code = 1
	}
	os.Exit(code)
}

func TestPostUpgrade(t *testing.T) {
	gomega.RegisterFailHandler(fail)
	ran = true
	RunSpecs(t, "Istio revision upgrade: postflight")
}

var _ = ReportBeforeSuite(func(Report) {
	if suite, _ := GinkgoConfiguration(); suite.DryRun {
		fmt.Println("mesh-postflight: a dry run reads nothing, verifies nothing, and changes nothing")
		return
	}
	fmt.Println(env.banner())
})

var _ = ReportAfterSuite("summary", func(report Report) {
	if report.SuiteConfig.DryRun {
		return // Ginkgo calls every spec passed then
	}
	s := summarize(report)
	if err := s.publish(os.Stdout); err != nil {
		message := fmt.Sprintf("publish the summary: %v", err)
		if !env.advisory {
			Fail(message)
		}
		fmt.Fprintln(os.Stderr, "WARNING (--advisory)", message)
	}
	switch {
	case s.noSuccess == "":
	case s.verified() == 0 || !env.advisory:
		Fail(s.noSuccess)
	default:
		fmt.Fprintln(os.Stderr, "WARNING (--advisory)", s.noSuccess)
	}
})
