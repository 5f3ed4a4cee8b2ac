package postupgrade

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

// flags are the suite's own, before they are judged.
type flags struct {
	clusterID, targetRevision string
	kubeconfig, context       string
	fix, advisory             bool
	armEndpoint, cloud        string
	artifacts                 string
	leaseGrace                time.Duration
	maxDeletions              int
	apiServerNames            []string
	// problems are values that could not be read.
	problems []string
}

// registerFlags adds the suite's flags. Those that have an environment variable
// take their default from it.
func registerFlags(set *flag.FlagSet) *flags {
	f := &flags{leaseGrace: leases.DefaultGrace, maxDeletions: leases.DefaultMaxDeletions}
	set.StringVar(&f.clusterID, "cluster-id", os.Getenv("POSTFLIGHT_CLUSTER_ID"), "ARM resource `ID` of the managed cluster (POSTFLIGHT_CLUSTER_ID)")
	set.StringVar(&f.targetRevision, "target-revision", os.Getenv("POSTFLIGHT_TARGET_REVISION"), "the `revision` that must be the only one, such as asm-1-29 (POSTFLIGHT_TARGET_REVISION)")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "`file` with the cluster's API server and credentials (KUBECONFIG); needed with --fix")
	set.StringVar(&f.context, "context", "", "`name` of the kubeconfig's context, if not its current one")
	set.BoolVar(&f.fix, "fix", false, "repair what fails: delete the orphaned leases")
	set.BoolVar(&f.advisory, "advisory", false, "report findings and read errors as warnings, and exit 0")
	set.StringVar(&f.armEndpoint, "arm-endpoint", os.Getenv("POSTFLIGHT_ARM_ENDPOINT"), "`URL` of a faked ARM on a loopback address (POSTFLIGHT_ARM_ENDPOINT)")
	set.StringVar(&f.cloud, "cloud", os.Getenv("AZURE_CLOUD"), "the Azure `cloud`: "+strings.Join(aks.Clouds(), ", ")+" (AZURE_CLOUD; default "+aks.Clouds()[0]+")")
	set.StringVar(&f.artifacts, "artifacts", cmp.Or(os.Getenv("ARTIFACTS"), os.Getenv("ARTIFACT_DIR")), "`folder` for the summary and the record of deletions (ARTIFACTS, ARTIFACT_DIR; with --fix by default ./postflight-artifacts)")
	lenient(set, f, "lease-grace", &f.leaseGrace, time.ParseDuration, "how long an orphan must have been silent, as a `duration`")
	lenient(set, f, "max-deletions", &f.maxDeletions, strconv.Atoi, "delete nothing if there are more orphans than this `number`")
	set.Func("api-server-name", "another `name` of the cluster's API server that ARM does not list; may be repeated", func(name string) error {
		f.apiServerNames = append(f.apiServerNames, name)
		return nil
	})
	return f
}

// lenient adds a flag whose bad value is one of several problems, not the end of
// reading flags.
func lenient[T any](set *flag.FlagSet, f *flags, name string, value *T, parse func(string) (T, error), usage string) {
	set.Func(name, fmt.Sprintf("%s (default %v)", usage, *value), func(text string) error {
		parsed, err := parse(text)
		if err != nil {
			f.problems = append(f.problems, fmt.Sprintf("--%s: %v", name, err))
			return nil
		}
		*value = parsed
		return nil
	})
}

// parse reads the command line. An error is that of a flag that does not exist or
// has no value; flag.ErrHelp when only help is wanted, which it has printed.
func parse(set *flag.FlagSet, args []string) error {
	set.Init(set.Name(), flag.ContinueOnError)
	output, others := set.Output(), set.Usage
	// On an error, hundreds of lines of usage would hide it.
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	err := set.Parse(args)
	set.SetOutput(output)
	set.Usage = func() { usage(others) }
	if errors.Is(err, flag.ErrHelp) {
		set.Usage()
	}
	return err
}

// usage prints the suite's flags, then, by Ginkgo's own usage, all others.
func usage(others func()) {
	ours := flag.NewFlagSet("", flag.ContinueOnError)
	registerFlags(ours)
	fmt.Fprint(ours.Output(), "mesh-postflight: verifies a cluster after an Istio revision upgrade.\n\n")
	ours.PrintDefaults()
	fmt.Fprint(ours.Output(), "\nPaths are relative to the working folder; `ginkgo run` works in the suite's folder, so give it absolute ones.\n\n")
	others()
}
