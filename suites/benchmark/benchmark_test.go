// Package benchmark measures what the suite and its fixer cost on a real API
// server, beside the plain way to do the same. `make bench` runs it.
package benchmark

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
	"github.com/mesh-postflight/mesh-postflight/fixtures/clusters"
	"github.com/mesh-postflight/mesh-postflight/fixtures/faultproxy"
	"github.com/mesh-postflight/mesh-postflight/fixtures/scenarios"
	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

const (
	namespace = "aks-istio-system"
	// orphans are deleted by the fixer, and plain ones by a loop under
	// client-go's default limit of 5 requests a second, which would take too
	// long for all: the rates are compared.
	orphans = 2000
	plain   = 60
)

// BenchmarkDelete deletes orphans with the fixer and with a plain loop.
func BenchmarkDelete(b *testing.B) {
	for b.Loop() {
		stage := setUp(b, "settled")
		create(b, stage.Config, orphans)
		fixerRate := deleteWithFixer(b, stage)
		create(b, stage.Config, plain)
		loopRate := deleteInLoop(b, stage.Config)

		b.ReportMetric(fixerRate, "fixer-deletes/s")
		b.ReportMetric(loopRate, "loop-deletes/s")
		b.ReportMetric(fixerRate/loopRate, "ratio")
	}
}

// deleteWithFixer returns the fixer's rate, with all that it does before and
// after: the gate, the reads, the record, and the look for what came back.
func deleteWithFixer(b *testing.B, stage *scenarios.Stage) float64 {
	b.Helper()
	fixer, err := leases.New(armOf(b, stage), stage.Config, leases.Options{
		Target: "asm-1-29", Record: &fixers.Record{Dir: b.TempDir(), Who: "benchmark", Cluster: stage.ClusterID},
		MaxDeletions:   orphans,
		RecreationWait: time.Nanosecond, // waiting is not work
	})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	outcome, err := fixer.Fix(b.Context())
	took := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	n := outcome.Count(fixers.Deleted)
	if n != orphans {
		b.Fatalf("deleted %d of %d orphans", n, orphans)
	}
	return float64(n) / took.Seconds()
}

// deleteInLoop deletes by name, one after the other, with a default client: the
// loop that teams run today.
func deleteInLoop(b *testing.B, cfg *rest.Config) float64 {
	b.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = 0, 0 // client-go's defaults
	client := kubernetes.NewForConfigOrDie(cfg).CoordinationV1().Leases(namespace)
	start := time.Now()
	for n := range plain {
		if err := client.Delete(b.Context(), leaseName(n), metav1.DeleteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	return plain / time.Since(start).Seconds()
}

// BenchmarkVerify runs the compiled suite on a healthy cluster, and makes the
// same reads without it.
func BenchmarkVerify(b *testing.B) {
	stage := setUp(b, "settled")
	suite := filepath.Join(b.TempDir(), "postupgrade.test")
	if out, err := exec.CommandContext(b.Context(), "go", "test", "-vet=off", "-c", "-o", suite, "../postupgrade").CombinedOutput(); err != nil {
		b.Fatalf("compile the suite: %v\n%s", err, out)
	}
	verify := func(b *testing.B, args ...string) {
		command := exec.CommandContext(b.Context(), suite, args...)
		command.Env = append(os.Environ(), stage.Env()...)
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("verify: %v\n%s", err, out)
		}
	}
	b.Run("suite", func(b *testing.B) {
		for b.Loop() {
			verify(b)
		}
		// One more, counted, is not timed: the count needs a proxy.
		b.StopTimer()
		proxy, kubeconfig := counting(b, stage)
		asked := len(stage.ARM.Journal())
		verify(b, "--kubeconfig", kubeconfig)
		b.ReportMetric(float64(len(stage.ARM.Journal())-asked+len(proxy.Requests())), "requests/op")
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			requests := readBare(b, stage)
			b.ReportMetric(float64(requests), "requests/op")
		}
	})
}

// counting puts a proxy that counts requests before the stage's API server, and
// returns a kubeconfig that leads through it.
func counting(b *testing.B, stage *scenarios.Stage) (*faultproxy.Proxy, string) {
	b.Helper()
	proxy, err := faultproxy.Start(stage.Config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = proxy.Close() })
	file, err := clientcmd.LoadFromFile(stage.Kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	through := proxy.Config(stage.Config)
	for _, c := range file.Clusters {
		c.Server, c.CertificateAuthority, c.CertificateAuthorityData = through.Host, "", through.CAData
	}
	path := filepath.Join(b.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		b.Fatal(err)
	}
	return proxy, path
}

// readBare makes the requests of a healthy run, and returns how many they are.
func readBare(b *testing.B, stage *scenarios.Stage) (requests int) {
	b.Helper()
	count := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
		requests++
	}
	for _, path := range []string{"", "/meshUpgradeProfiles"} {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, stage.ARMEndpoint+stage.ClusterID+path+"?api-version=2025-02-01", nil)
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer x")
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		count(err)
	}
	cfg := rest.CopyConfig(stage.Config)
	cfg.QPS = -1
	client := kubernetes.NewForConfigOrDie(cfg)
	for _, resource := range []string{"deployments", "leases", "pods", "services", "mutatingwebhookconfigurations"} {
		_, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(b.Context(), &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: resource, Namespace: namespace}},
		}, metav1.CreateOptions{})
		count(err)
	}
	_, err := client.AppsV1().Deployments(namespace).List(b.Context(), metav1.ListOptions{})
	count(err)
	_, err = client.CoordinationV1().Leases(namespace).List(b.Context(), metav1.ListOptions{})
	count(err)
	return requests
}

func setUp(b *testing.B, name string) *scenarios.Stage {
	b.Helper()
	scenario, err := scenarios.Find(name)
	if err != nil {
		b.Fatal(err)
	}
	provider, err := clusters.New("embedded", os.Stderr)
	if err != nil {
		b.Fatal(err)
	}
	stage, err := scenarios.SetUp(b.Context(), provider, "benchmark", scenario, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := stage.TakeDown(b.Context()); err != nil {
			b.Error(err)
		}
	})
	return stage
}

func armOf(b *testing.B, stage *scenarios.Stage) *aks.Reader {
	b.Helper()
	id, err := aks.ParseClusterID(stage.ClusterID)
	if err != nil {
		b.Fatal(err)
	}
	configuration, err := aks.ParseCloud("")
	if err != nil {
		b.Fatal(err)
	}
	endpoint, err := aks.ParseEndpoint(stage.ARMEndpoint)
	if err != nil {
		b.Fatal(err)
	}
	reader, err := aks.NewReader(id, configuration, endpoint)
	if err != nil {
		b.Fatal(err)
	}
	return reader
}

func leaseName(n int) string { return fmt.Sprintf("istio-gateway-deployment-asm-0-%d", n) }

// create makes n orphans, ten at a time.
func create(b *testing.B, cfg *rest.Config, n int) {
	b.Helper()
	renewed := scenarios.RenewedAt(time.Now().Add(-3 * time.Hour))
	errs := make(chan error)
	const workers = 10
	for worker := range workers {
		go func() {
			var objects scenarios.Objects
			for i := worker; i < n; i += workers {
				objects = append(objects, scenarios.ElectionLease(leaseName(i), renewed))
			}
			errs <- objects.Create(b.Context(), cfg)
		}()
	}
	for range workers {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
}
