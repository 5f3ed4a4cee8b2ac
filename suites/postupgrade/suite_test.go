// Package postupgrade is the suite that a pipeline runs after an Istio revision
// upgrade. It asserts that the mesh is stable and that nothing of a retired
// revision remains. With --fix, a failing assertion that a fixer can repair
// calls it, and is made again.
//
// It is a black box: all that it knows is a kubeconfig and an ARM cluster ID.
package postupgrade

import (
	"flag"
	"fmt"
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
)

func TestMain(m *testing.M) {
	ginkgos := flag.CommandLine.Usage
	flag.CommandLine.Usage = func() { usage(ginkgos) }
	flag.Parse()
	var err error
	if env, err = newEnvironment(options, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestPostUpgrade(t *testing.T) {
	RegisterFailHandler(fail)
	RunSpecs(t, "Istio revision upgrade: postflight")
}

var _ = ReportBeforeSuite(func(Report) {
	fmt.Println(env.banner())
})

var _ = ReportAfterSuite("summary", func(report Report) {
	Expect(summarize(report).publish(os.Stdout)).To(Succeed(), "publish the summary")
})
