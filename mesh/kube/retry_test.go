package kube_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/mesh/kube"
)

func status(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: fmt.Sprint("answered ", code)}}
}

func TestRetryTriesAgainWhatMayPass(t *testing.T) {
	const list = "GET " + leasesPath
	for name, row := range map[string]struct {
		err    error
		passes bool
	}{
		"throttling":             {status(429), true},
		"a server error":         {status(500), true},
		"a bad gateway":          {status(502), true},
		"an unavailable service": {status(503), true},
		"a gateway's time-out":   {status(504), true},
		"a wrapped server error": {fmt.Errorf("list leases: %w", status(500)), true},
		"a bad request":          {status(400), false},
		"no identity":            {status(401), false},
		"no permission":          {status(403), false},
		"no such object":         {status(404), false},
		"a method not allowed":   {status(405), false},
		"a conflict":             {status(409), false},
		"an expired list":        {status(410), false},
		"a denied object":        {status(422), false},
		"a status without code":  {status(0), false},
		"any other error":        {errors.New("the answer is no list"), false},

		"a refused connection":       {send(t, closedAddress(t), list, nil), true},
		"a connection that is reset": {send(t, hijacking(t, true), list, nil), true},
		"a connection that ends":     {send(t, hijacking(t, false), list, nil), true},
		"an answer that ends":        {send(t, cuttingOff(t), list, nil), true},
		"a time-out":                 {send(t, neverAnswering(t), list, nil), true},
		"the end of one attempt":     {context.DeadlineExceeded, true},
		"a call that was given up":   {context.Canceled, false},
		"an unknown authority":       {send(t, unknownAuthority(t), list, nil), false},
		"a server of another name":   {send(t, anotherName(t), list, nil), false},
		"a refusal by the guard":     {send(t, kube.ReadOnly(closedAddress(t)), "DELETE "+leasePath, nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(row.err).To(HaveOccurred())
			want := 1
			if row.passes {
				want = kube.Attempts
			}
			tries := 0
			err := kube.Retry(t.Context(), func(context.Context) error {
				tries++
				return row.err
			})
			g.Expect(err).To(BeIdenticalTo(row.err))
			g.Expect(tries).To(Equal(want), "attempts for: %v", row.err)
		})
	}
	if kube.Attempts < 2 || kube.Attempts > 10 {
		t.Errorf("%d attempts", kube.Attempts)
	}
}

func TestRetryEndsWithTheFirstSuccess(t *testing.T) {
	g := NewWithT(t)
	tries := 0
	err := kube.Retry(t.Context(), func(context.Context) error {
		if tries++; tries < 3 {
			return status(503)
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tries).To(Equal(3))
}

func TestRetryReturnsTheLastError(t *testing.T) {
	g := NewWithT(t)
	tries := int32(0)
	err := kube.Retry(t.Context(), func(context.Context) error {
		tries++
		return status(500 + tries)
	})
	g.Expect(err).To(MatchError(fmt.Sprint("answered ", 500+kube.Attempts)))
}

func TestRetryEndsWithAnErrorThatWillNotPass(t *testing.T) {
	g := NewWithT(t)
	errs := []error{status(503), status(403), nil}
	err := kube.Retry(t.Context(), func(context.Context) error {
		next := errs[0]
		errs = errs[1:]
		return next
	})
	g.Expect(err).To(MatchError("answered 403"))
	g.Expect(errs).To(HaveLen(1))
}

func TestRetryEndsWithItsContext(t *testing.T) {
	kube.WaitBetweenAttempts(t, time.Hour)
	for name, row := range map[string]struct {
		ctx    func(t *testing.T) (context.Context, context.CancelFunc)
		during bool
		tries  int
		says   string
	}{
		"before the first attempt": {func(t *testing.T) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		}, false, 0, "context canceled"},
		"during an attempt": {func(t *testing.T) (context.Context, context.CancelFunc) {
			return context.WithCancel(t.Context())
		}, true, 1, "answered 503"},
		"between two": {func(t *testing.T) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), time.Second)
		}, false, 1, "answered 503"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				ctx, cancel := row.ctx(t)
				defer cancel()
				tries := 0
				err := kube.Retry(ctx, func(context.Context) error {
					tries++
					if row.during {
						cancel()
					}
					return status(503)
				})
				g.Expect(err).To(MatchError(row.says))
				g.Expect(tries).To(Equal(row.tries))
			})
		})
	}
}

// A program that gets a credential may hang, and client-go waits for it.
func TestRequestEndsWithItsContextEvenWhenTheSendingDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		hang := make(chan struct{})
		defer close(hang)
		send := func(context.Context) (int, error) { <-hang; return 1, nil }

		began := time.Now()
		_, err := kube.Request(t.Context(), send)
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
		g.Expect(time.Since(began)).To(Equal(kube.RequestTimeout))

		interrupt := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(interrupt) })
		_, err = kube.Request(ctx, send)
		g.Expect(err).To(MatchError(interrupt))
	})
}

func TestRequestThatEndsItsGoroutineIsNoSuccess(t *testing.T) {
	_, err := kube.Request(t.Context(), func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
	NewWithT(t).Expect(err).To(MatchError("the request ended without an answer"))
}

// Whoever makes the request recovers, as Ginkgo does, or nobody.
func TestRequestPassesAPanicOn(t *testing.T) {
	g := NewWithT(t)
	g.Expect(func() {
		_, _ = kube.Request(t.Context(), func(context.Context) (int, error) { panic("boom") })
	}).To(PanicWith("boom"))
}
