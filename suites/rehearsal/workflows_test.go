package rehearsal

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// What pipelines embed is run here as their services run it.
var _ = Describe("The reusable workflow of GitHub Actions", func() {
	It("fixes, reports, and names its artifact", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		w := githubWorkflow(s.inputs(ctx, map[string]string{"fix": "true", "api-server-names": "a.example.com b.example.com", "label-filter": "leases"}))
		output, err := w.run(ctx)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(leases(ctx)).To(Equal(without(before, orphansOf2728...)))
		Expect(w.file("temp", "postflight", "junit.xml")).To(ContainSubstring(`tests="`))
		Expect(w.file("temp", "postflight", "report.json")).To(ContainSubstring(`"Name": "outcome"`))
		Expect(w.file("step-summary")).To(ContainSubstring("FIXED 2"))
		Expect(w.file("output")).To(MatchRegexp(`^artifact=postflight-rehearsal-\d{8}T\d{6}\.\d{3}Z\n$`))
	})

	It("is red when the suite is", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		w := githubWorkflow(s.inputs(ctx, nil))
		output, err := w.run(ctx)
		Expect(err).To(MatchError("exit status 1"), output)
		Expect(leases(ctx)).To(Equal(before))
		Expect(w.file("temp", "postflight", "summary.md")).To(ContainSubstring("FAIL 2"))
	})

	It("hands the end of a cancelled job on to the suite", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		w := githubWorkflow(s.inputs(ctx, map[string]string{"fix": "true"}))
		// The runner signals the shell alone.
		output, err := s.interruptReading(ctx, w.command(ctx))
		Expect(err).To(MatchError("exit status 1"), output)
		Expect(output).To(ContainSubstring("Interrupted by User"))
		Expect(w.file("temp", "postflight", "summary.md")).To(ContainSubstring("The run ended early"))
		Expect(leases(ctx)).To(Equal(before))
	})

	It("has an input for every flag", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		inputs := githubWorkflow(nil).inputs
		for _, flag := range pipelineFlags(ctx) {
			Expect(inputs).To(Or(HaveKey(flag), HaveKey(flag+"s")))
		}
	})
})

var _ = Describe("The template of Azure Pipelines", func() {
	It("fixes, and publishes its results and its summary", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		w := azureTemplate(s.parameters(ctx, map[string]string{"fix": "True", "apiServerNames": "a.example.com b.example.com"}))
		output, err := w.run(ctx)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(leases(ctx)).To(Equal(without(before, orphansOf2728...)))
		Expect(w.file("temp", "postflight", "TEST-postflight.xml")).To(ContainSubstring(`name="[It] Access includes every permission`))
		Expect(output).To(ContainSubstring("##vso[task.uploadsummary]" + w.path("temp", "postflight", "summary.md")))
	})

	It("is red when the suite is, or is refused", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		s := setUp(ctx, "retired-leases")
		before := leases(ctx)
		found := azureTemplate(s.parameters(ctx, nil))
		output, err := found.run(ctx)
		Expect(err).To(MatchError("exit status 1"), output)
		Expect(output).To(ContainSubstring("##vso[task.uploadsummary]"))
		refused := azureTemplate(s.parameters(ctx, map[string]string{"leaseGrace": "soon"}))
		output, err = refused.run(ctx)
		Expect(err).To(MatchError("exit status 1"), output)
		Expect(output).To(And(ContainSubstring("--lease-grace"), Not(ContainSubstring("##vso["))), "a summary that is not there is not published")
		Expect(leases(ctx)).To(Equal(before))
	})

	It("has a parameter for every flag", SpecTimeout(timeouts.Rehearsal), func(ctx SpecContext) {
		parameters := azureTemplate(nil).inputs
		for _, flag := range pipelineFlags(ctx) {
			words := strings.Split(flag, "-")
			for i, word := range words[1:] {
				words[i+1] = strings.ToUpper(word[:1]) + word[1:]
			}
			name := strings.Join(words, "")
			Expect(parameters).To(Or(HaveKey(name), HaveKey(name+"s")))
		}
	})
})

// inputs are what a workflow is called with to verify the stage.
func (s *stage) inputs(ctx context.Context, more map[string]string) map[string]string {
	GinkgoHelper()
	kubeconfig, err := os.ReadFile(writeKubeconfig(s.config(ctx, fixer)))
	Expect(err).NotTo(HaveOccurred(), "read the kubeconfig")
	inputs := map[string]string{"cluster-id": clusterID, "target-revision": s.target, "arm-endpoint": s.arm.URL(), "kubeconfig": string(kubeconfig)}
	maps.Copy(inputs, more)
	return inputs
}

// parameters are what a template is called with to verify the stage.
func (s *stage) parameters(ctx context.Context, more map[string]string) map[string]string {
	GinkgoHelper()
	parameters := map[string]string{
		"clusterId": clusterID, "targetRevision": s.target, "armEndpoint": s.arm.URL(),
		"azureSubscription": "a service connection", "kubeconfigFile": writeKubeconfig(s.config(ctx, fixer)),
	}
	maps.Copy(parameters, more)
	return parameters
}

// workflow is the script of a pipeline's file in the environment that its
// service would give it, in a folder of its own.
type workflow struct {
	folder string
	// inputs are those that the file declares, with the values of this call.
	inputs map[string]string
	shell  []string
	script string
	env    []string
}

func newWorkflow(shell ...string) *workflow {
	GinkgoHelper()
	w := &workflow{folder: GinkgoT().TempDir(), inputs: map[string]string{}, shell: shell}
	Expect(os.MkdirAll(w.path("temp", "postflight"), 0o755)).To(Succeed())
	Expect(os.Mkdir(w.path(".built"), 0o755)).To(Succeed())
	Expect(os.Symlink(suiteBinary, w.path(".built", "postupgrade.test"))).To(Succeed(), "put the compiled suite where make suite does")
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.folder}
	return w
}

// declare adds an input with its default, in the service's words for yes and no.
func (w *workflow) declare(name string, value any, yes, no string) {
	switch value {
	case true:
		value = yes
	case false:
		value = no
	case nil:
		value = ""
	}
	w.inputs[name] = fmt.Sprint(value)
}

// call gives inputs their values, all of which must be declared, and resolves
// the environment with them.
func (w *workflow) call(values, env map[string]string) {
	GinkgoHelper()
	for name, value := range values {
		Expect(w.inputs).To(HaveKey(name), "an input that is declared")
		w.inputs[name] = value
	}
	for name, value := range env {
		resolved := expression.ReplaceAllStringFunc(value, func(e string) string {
			input := expression.FindStringSubmatch(e)[1]
			Expect(w.inputs).To(HaveKey(input), "the variable %s is of an input", name)
			return w.inputs[input]
		})
		w.env = append(w.env, name+"="+resolved)
	}
}

var expression = regexp.MustCompile(`\$\{\{ (?:inputs|secrets|parameters)\.([\w-]+) \}\}`)

func (w *workflow) command(ctx context.Context) *exec.Cmd {
	GinkgoHelper()
	Expect(os.WriteFile(w.path("script.sh"), []byte(w.script), 0o600)).To(Succeed())
	command := exec.CommandContext(ctx, w.shell[0], append(w.shell[1:], w.path("script.sh"))...)
	command.Dir, command.Env = w.folder, w.env
	return command
}

func (w *workflow) run(ctx context.Context) (output string, err error) {
	GinkgoHelper()
	text, err := w.command(ctx).CombinedOutput()
	return string(text), err
}

func (w *workflow) path(parts ...string) string {
	return filepath.Join(append([]string{w.folder}, parts...)...)
}

func (w *workflow) file(parts ...string) string {
	GinkgoHelper()
	text, err := os.ReadFile(w.path(parts...))
	Expect(err).NotTo(HaveOccurred(), "read what the script left")
	return string(text)
}

// githubWorkflow is the step of the reusable workflow that runs the suite.
func githubWorkflow(values map[string]string) *workflow {
	GinkgoHelper()
	var file struct {
		// In YAML 1.1 the word "on" is true.
		On struct {
			Call struct {
				Inputs map[string]struct{ Default any }
			} `json:"workflow_call"`
		} `json:"true"`
		Jobs map[string]struct {
			Steps []struct {
				ID, Shell, Run string
				Env            map[string]string
			}
		}
	}
	readYAML(&file, ".github", "workflows", "postflight.yml")
	// What GitHub calls a script with where a step says "shell: bash".
	w := newWorkflow("bash", "--noprofile", "--norc", "-eo", "pipefail")
	w.env = append(w.env, "RUNNER_TEMP="+w.path("temp"), "GITHUB_OUTPUT="+w.path("output"), "GITHUB_STEP_SUMMARY="+w.path("step-summary"))
	w.inputs["kubeconfig"] = "" // the secret
	for name, input := range file.On.Call.Inputs {
		w.declare(name, input.Default, "true", "false")
	}
	for _, step := range file.Jobs["postflight"].Steps {
		if step.ID == "verify" {
			Expect(step.Shell).To(Equal("bash"))
			w.script = step.Run
			w.call(values, step.Env)
		}
	}
	Expect(w.script).NotTo(BeEmpty(), "the step that verifies")
	return w
}

// azureTemplate is the task of the template that runs the suite.
func azureTemplate(values map[string]string) *workflow {
	GinkgoHelper()
	var file struct {
		Parameters []struct {
			Name    string
			Default any
		}
		Steps []struct {
			Task   string
			Env    map[string]string
			Inputs map[string]string
		}
	}
	readYAML(&file, "docs", "pipelines", "azure-postflight.yml")
	w := newWorkflow("bash")
	for _, p := range file.Parameters {
		w.declare(p.Name, p.Default, "True", "False")
	}
	for _, step := range file.Steps {
		if step.Task == "AzureCLI@2" {
			w.script = step.Inputs["inlineScript"]
			w.call(values, step.Env)
		}
	}
	Expect(w.script).NotTo(BeEmpty(), "the task that verifies")
	variables := strings.NewReplacer("$(Agent.TempDirectory)", w.path("temp"), "$(kubeconfig.secureFilePath)", w.inputs["kubeconfigFile"])
	for i := range w.env {
		w.env[i] = variables.Replace(w.env[i])
	}
	return w
}

func readYAML(into any, path ...string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	Expect(err).NotTo(HaveOccurred(), "read the pipeline's file")
	Expect(yaml.Unmarshal(text, into)).To(Succeed(), "decode %s", path)
}

// pipelineFlags are the suite's flags, by its own account, but those for files
// that a pipeline passes in its own way.
func pipelineFlags(ctx context.Context) []string {
	GinkgoHelper()
	help, err := exec.CommandContext(ctx, suiteBinary, "--help").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "ask the suite for its flags")
	ours, _, found := strings.Cut(string(help), "Paths are relative")
	Expect(found).To(BeTrue(), "the end of the suite's own flags")
	var flags []string
	for _, match := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(ours, -1) {
		if match[1] != "kubeconfig" && match[1] != "artifacts" {
			flags = append(flags, match[1])
		}
	}
	Expect(len(flags)).To(BeNumerically(">", 5), "flags of the suite")
	return flags
}
