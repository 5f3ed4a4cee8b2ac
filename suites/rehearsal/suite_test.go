// Package rehearsal verifies the verifier: it stages what an upgrade leaves
// behind, runs the compiled post-upgrade suite as a pipeline would, and judges
// its exit code, its reports and what is left in the cluster.
package rehearsal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/e2e-framework/support"

	"github.com/mesh-postflight/mesh-postflight/fixtures/clusters"
)

// choice is the cluster to rehearse on. e2e-framework reads a flag --context of
// the running program too: it must be that of the cluster, and is.
var choice clusters.Choice

var clusterKind = &choice.Kind

var logsFolder = flag.String("logs", "", "`folder` for the logs of a cluster on which a rehearsal failed")

func init() { choice.AddFlags(flag.CommandLine) }

// timeouts are all that the rehearsals wait for.
var timeouts = struct {
	// Build bounds compiling the suite, and the control plane on first use.
	Build time.Duration
	// Cluster bounds starting or stopping a cluster.
	Cluster time.Duration
	// Rehearsal bounds one rehearsal: a few runs of the suite.
	Rehearsal time.Duration
	// Upgrade bounds a rehearsal with real control planes: several runs of the
	// suite, and the half minute after which a lease counts as silent.
	Upgrade time.Duration
	// Propagation is how long the API server may take to act on a new role or
	// policy.
	Propagation time.Duration
	// Removal is how long namespaces may take to be gone.
	Removal time.Duration
}{
	Build: 20 * time.Minute, Cluster: 5 * time.Minute, Rehearsal: 3 * time.Minute, Upgrade: 6 * time.Minute,
	Propagation: 30 * time.Second, Removal: 2 * time.Minute,
}

var (
	// suiteBinary is the compiled post-upgrade suite.
	suiteBinary string
	// cluster is the throwaway cluster of this process. Its scenarios come one
	// after the other.
	cluster *clusters.Cluster
	// provider is the one that made it.
	provider support.E2EClusterProvider
	// failed tells that a rehearsal of this process failed.
	failed bool
)

func TestRehearsal(t *testing.T) {
	_, problems := choice.Provider(nil)
	if suite, _ := GinkgoConfiguration(); *clusterKind == "existing" && suite.ParallelTotal > 1 {
		problems = errors.Join(problems, errors.New("--procs: one process alone can rehearse on an existing cluster"))
	}
	if problems != nil {
		t.Fatalf("nothing was read or changed:\n%v", problems)
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "Rehearsals of the post-upgrade suite")
}

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	dir, err := os.MkdirTemp("", "mesh-postflight-rehearsal-")
	Expect(err).NotTo(HaveOccurred(), "make a folder for the compiled suite")
	// Set here already, so that what follows may end early and the folder still go.
	suiteBinary = filepath.Join(dir, "postupgrade.test")
	out, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-c", "-o", suiteBinary, "../postupgrade").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "compile the post-upgrade suite:\n%s", out)
	if *clusterKind == "embedded" {
		// Built once here, not by every process at the same time.
		first := startCluster(ctx)
		Expect(first.Stop(ctx)).To(Succeed(), "stop the first cluster")
	}
	return []byte(suiteBinary)
}, func(ctx SpecContext, binary []byte) {
	suiteBinary = string(binary)
	cluster = startCluster(ctx)
	DeferCleanup(func(ctx SpecContext) {
		if failed && *logsFolder != "" {
			dest := filepath.Join(*logsFolder, fmt.Sprintf("cluster-%d", GinkgoParallelProcess()))
			if err := provider.ExportLogs(ctx, dest); err != nil {
				AddReportEntry("logs", err.Error())
			}
		}
		Expect(cluster.Stop(ctx)).To(Succeed(), "stop the cluster")
	}, NodeTimeout(timeouts.Cluster))
	if *clusterKind == "existing" {
		expectNoIdentities(ctx)
		DeferCleanup(removeIdentities, NodeTimeout(timeouts.Cluster))
	}
	createIdentities(ctx)
}, NodeTimeout(timeouts.Build))

var _ = ReportAfterEach(func(r SpecReport) { failed = failed || r.Failed() })

var _ = SynchronizedAfterSuite(func() {}, func() {
	if suiteBinary != "" {
		Expect(os.RemoveAll(filepath.Dir(suiteBinary))).To(Succeed(), "remove the compiled suite")
	}
})

func startCluster(ctx context.Context) *clusters.Cluster {
	GinkgoHelper()
	var err error
	provider, err = choice.Provider(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred(), "choose the cluster")
	started, err := clusters.Start(ctx, provider, fmt.Sprintf("rehearsal-%d-%d", os.Getpid(), GinkgoParallelProcess()))
	Expect(err).NotTo(HaveOccurred(), "start the cluster")
	return started
}
