package rehearsal

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Bad input is judged before anything is read: no stage is needed, and none of
// the addresses here would answer.
var _ = Describe("Bad input", func() {
	const good = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c"

	// goodCall would be accepted as it is.
	goodCall := func() pipeline {
		dir := GinkgoT().TempDir()
		kubeconfig := filepath.Join(dir, "kubeconfig")
		Expect(os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",`+
			`"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],`+
			`"users":[{"name":"u","user":{"token":"t"}}],`+
			`"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`), 0o600)).To(Succeed())
		return pipeline{
			env: []string{
				"KUBECONFIG=" + kubeconfig, "POSTFLIGHT_CLUSTER_ID=" + good,
				"POSTFLIGHT_TARGET_REVISION=asm-1-29", "POSTFLIGHT_ARM_ENDPOINT=http://127.0.0.1:1",
			},
			artifacts: GinkgoT().TempDir(),
		}
	}

	DescribeTable("is refused, whatever else is asked",
		func(spec SpecContext, args, env []string, says ...string) {
			ctx, cancel := context.WithTimeout(spec, timeouts.Rehearsal)
			defer cancel()
			for _, mode := range [][]string{nil, {"--advisory"}} {
				p := goodCall()
				p.env = append(p.env, env...)
				// Flags stand before arguments, as anywhere in Go.
				p.args = slices.Concat(mode, args)
				result := p.run(ctx)
				Expect(result.exit).To(Equal(1), "exit code with %q", mode)
				for _, part := range says {
					Expect(result.output).To(ContainSubstring(part))
				}
				Expect(result.output).To(ContainSubstring("nothing was read or changed"))
				Expect(result.output).NotTo(ContainSubstring("goroutine"), "no stack trace")
				Expect(result.output).NotTo(ContainSubstring("Running Suite"), "no spec was run")
			}
		},
		Entry("no cluster ID", nil, []string{"POSTFLIGHT_CLUSTER_ID="}, "--cluster-id (POSTFLIGHT_CLUSTER_ID): is empty"),
		Entry("no managed cluster", []string{"--cluster-id", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"}, nil, "is not the ID of a managed cluster"),
		Entry("a part of a managed cluster", []string{"--cluster-id", good + "/agentPools/p"}, nil, "is not the ID of a managed cluster"),
		Entry("no target", nil, []string{"POSTFLIGHT_TARGET_REVISION="}, "--target-revision (POSTFLIGHT_TARGET_REVISION): is empty"),
		Entry("no revision", []string{"--target-revision", "asm_1.29"}, nil, `"asm_1.29" is no revision`),
		Entry("a revision of upstream Istio", []string{"--target-revision", "1-27-3"}, nil, `"1-27-3" has not the form asm-<major>-<minor>`, "upstream Istio is not supported yet"),
		Entry("no such kubeconfig", []string{"--kubeconfig", "/no/such/file"}, nil, "--kubeconfig (KUBECONFIG): stat /no/such/file"),
		Entry("no kubeconfig at all", nil, []string{"KUBECONFIG=/no/such/file"}, "--kubeconfig (KUBECONFIG): no cluster is in /no/such/file"),
		Entry("a kubeconfig that does not parse", []string{"--kubeconfig", "../../go.mod"}, nil, "--kubeconfig (KUBECONFIG)"),
		Entry("no such context", []string{"--context", "prod"}, nil, `has no context "prod"`),
		Entry("--fix by a default kubeconfig", []string{"--fix"}, []string{"KUBECONFIG="}, "is needed with --fix"),
		Entry("ARM elsewhere", []string{"--arm-endpoint", "https://arm.example.com"}, nil, "is not a loopback address"),
		Entry("ARM at a private address", []string{"--arm-endpoint", "http://10.0.0.1:80"}, nil, "is not a loopback address"),
		Entry("ARM by a name", []string{"--arm-endpoint", "http://localhost:80"}, nil, "is not a loopback address"),
		Entry("no such cloud", []string{"--cloud", "AzureGermany"}, nil, `"AzureGermany" is no Azure cloud`),
		Entry("names that prove nothing", []string{"--api-server-name", "localhost", "--api-server-name", "127.0.0.1", "--api-server-name", "::1", "--api-server-name", ""}, nil,
			"4 problem(s)", `"localhost" is a name of every cluster`, `"127.0.0.1" is an address`, `"::1" is an address`, `"" is no host name`),
		Entry("a URL for a name", []string{"--api-server-name", "https://api.example.com:443"}, nil, `"https://api.example.com:443" is no host name`),
		Entry("too short a grace", []string{"--lease-grace", "29s"}, nil, "29s is less than 30s"),
		Entry("no deletion allowed", []string{"--max-deletions", "0"}, nil, "0 is less than 1"),
		Entry("values that cannot be read", []string{"--max-deletions", "many", "--lease-grace", "10", "--cloud", "x"}, nil,
			"3 problem(s)", `--max-deletions: strconv.Atoi: parsing "many"`, `--lease-grace: time: missing unit in duration "10"`, "--cloud"),
		Entry("no such flag", []string{"--fixx"}, nil, "flag provided but not defined: -fixx", "See --help"),
		Entry("neither yes nor no", []string{"--fix=maybe"}, nil, `invalid boolean value "maybe" for -fix`),
		Entry("left-over arguments", []string{"--", "--fix"}, nil, `left-over arguments`, `["--fix"`),
		Entry("everything at once", []string{"--fix", "--cloud", "x", "--arm-endpoint", "x"}, []string{"KUBECONFIG=", "POSTFLIGHT_CLUSTER_ID=", "POSTFLIGHT_TARGET_REVISION="},
			"5 problem(s)", "--cluster-id", "--target-revision", "--kubeconfig", "--cloud", "--arm-endpoint"),
	)

	DescribeTable("tells no password of a kubeconfig",
		func(spec SpecContext, cluster string) {
			ctx, cancel := context.WithTimeout(spec, timeouts.Rehearsal)
			defer cancel()
			p := goodCall()
			kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
			Expect(os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",`+
				`"clusters":[{"name":"c","cluster":`+cluster+`}],"users":[{"name":"u","user":{"token":"t"}}],`+
				`"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`), 0o600)).To(Succeed())
			p.args = []string{"--kubeconfig", kubeconfig, "--ginkgo.label-filter", "access", "--fix"}
			result := p.run(ctx)
			Expect(result.exit).To(Equal(1))
			Expect(result.output).NotTo(ContainSubstring("SECRET"))
		},
		Entry("in the server's URL", `{"server":"https://user:SECRET@127.0.0.1:1"}`),
		Entry("in the server's URL, beside a bad CA", `{"server":"https://user:SECRET@127.0.0.1:1","certificate-authority-data":"eA=="}`),
		Entry("in a server's URL that does not parse", `{"server":"https://user:pa%SECRET@127.0.0.1:1"}`),
		Entry("in the proxy's URL", `{"server":"https://127.0.0.1:1","proxy-url":"http://user:SECRET@127.0.0.1:1"}`),
		Entry("in a proxy's URL that does not parse", `{"server":"https://127.0.0.1:1","proxy-url":"http://user:pa%SECRET@127.0.0.1:1"}`),
	)

	It("is told from good input", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		p := goodCall()
		p.args = []string{"--ginkgo.dry-run"}
		Expect(p.run(ctx).exit).To(BeZero())
	})

	It("gets the suite's own flags first with --help", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		p := pipeline{args: []string{"--help"}, artifacts: GinkgoT().TempDir()}
		result := p.run(ctx)
		Expect(result.exit).To(BeZero())
		ours, others := strings.Index(result.output, "-cluster-id ID"), strings.Index(result.output, "ginkgo.seed")
		Expect(ours).To(BeNumerically(">", 0), "the suite's flags are there")
		Expect(others).To(BeNumerically(">", ours))
	})
})
