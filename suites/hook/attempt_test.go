package hook_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/suites/hook"
)

func TestAttemptReturnsTheFailureOfItsOwnAssertion(t *testing.T) {
	reached := false
	failure := hook.Attempt(func(g gomega.Gomega) {
		g.Expect(1).To(gomega.Equal(1))
		g.Expect(1).To(gomega.Equal(2), "the rule")
		reached = true
	})
	if want := "the rule\nExpected\n    <int>: 1\nto equal\n    <int>: 2"; failure != want {
		t.Errorf("got %q, want %q", failure, want)
	}
	if reached {
		t.Error("what stands behind the failed assertion was run")
	}
}

func TestAttemptReturnsNothingWhenAllHolds(t *testing.T) {
	if failure := hook.Attempt(func(g gomega.Gomega) { g.Expect(1).To(gomega.Equal(1)) }); failure != "" {
		t.Errorf("got %q", failure)
	}
}

// What Ginkgo's Fail and Skip, a nil pointer, and a plain Expect raise must
// reach Ginkgo, and never a fixer.
func TestAttemptPassesEverythingElseOn(t *testing.T) {
	type ginkgoPanic string
	plain := gomega.NewGomega(func(string, ...int) { panic(ginkgoPanic("a plain Expect failed")) })
	for name, end := range map[string]func(){
		"a plain Expect":   func() { plain.Expect(1).To(gomega.Equal(2)) },
		"a panic":          func() { panic("boom") },
		"an error":         func() { panic(errors.New("boom")) },
		"a run-time error": func() { var p *int; _ = *p },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was swallowed")
				}
			}()
			hook.Attempt(func(gomega.Gomega) { end() })
			t.Error("the attempt returned")
		})
	}
}

// Ending the goroutine is how Go's own t.FailNow ends a test.
func TestAttemptLetsAGoroutineEnd(t *testing.T) {
	returned := make(chan bool)
	go func() {
		ended := false
		defer func() { returned <- ended }()
		hook.Attempt(func(gomega.Gomega) { runtime.Goexit() })
		ended = true
	}()
	if <-returned {
		t.Error("the attempt returned")
	}
}
