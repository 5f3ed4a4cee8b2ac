package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/pager"
)

// pageSize is the number of objects that one request asks for.
const pageSize = 500

// attempts bounds how often a request is made whose failure may pass.
var attempts = wait.Backoff{Steps: 4, Duration: 250 * time.Millisecond, Factor: 3, Jitter: 0.1}

// listAll lists every object of one kind, page by page. PT is *T.
func listAll[T any, PT interface {
	*T
	runtime.Object
}](ctx context.Context, what string, list pager.ListPageFunc) ([]T, error) {
	var all []T
	err := Retry(ctx, func(ctx context.Context) error {
		all = nil
		p := pager.New(list)
		p.PageSize = pageSize
		return p.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
			item, ok := o.(PT)
			if !ok {
				return fmt.Errorf("unexpected %T in the answer", o)
			}
			all = append(all, *item)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", what, err)
	}
	return all, nil
}

// page adapts a typed client's List to the pager. client-go takes a good answer
// that is no list, or one of another kind, for a list without items: only what
// has a resourceVersion, as every list of an API server has, is one.
func page[L interface {
	runtime.Object
	metav1.ListInterface
}](list func(context.Context, metav1.ListOptions) (L, error)) pager.ListPageFunc {
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		answer, err := Request(ctx, func(ctx context.Context) (L, error) { return list(ctx, opts) })
		if err == nil && answer.GetResourceVersion() == "" {
			err = errors.New("the answer is no list")
		}
		return answer, err
	}
}

// Request makes one request, and gives up after RequestTimeout or with ctx even
// when send does not: a kubeconfig may run a program to get a credential, and
// client-go waits for that without end. What send returns after that is lost. A
// panic of send is one of the caller's.
func Request[T any](ctx context.Context, send func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	type answer struct {
		value  T
		err    error
		raised any
	}
	answered := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("the request ended without an answer")}
		defer func() {
			a.raised = recover()
			answered <- a
		}()
		a.value, a.err = send(ctx)
	}()
	select {
	case a := <-answered:
		if a.raised != nil {
			panic(a.raised)
		}
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Retry makes the request in try again, a bounded number of times, while it
// fails for a reason that may pass: throttling, a server error, a time-out or a
// broken connection. It returns the last error, or nil.
func Retry(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, attempts, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		if last == nil {
			return true, nil
		}
		if !passing(last) || ctx.Err() != nil {
			return false, last
		}
		return false, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// passing reports whether the cause of err may be gone at the next attempt.
func passing(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code == 429 || code >= 500
	}
	// Every *url.Error is a net.Error, so ask for what really is the network's.
	var network net.Error
	var operation *net.OpError
	return errors.As(err, &network) && network.Timeout() || errors.As(err, &operation) || errors.Is(err, context.DeadlineExceeded) || brokenConnection(err)
}

// brokenConnection reports whether err is a connection that ended in the middle
// of an exchange.
func brokenConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}
