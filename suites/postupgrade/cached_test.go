package postupgrade

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
)

// cached remembers the first answer of a reading, also when it is an error: a
// run that cannot read ARM need not wait for it once a spec.
type cached[T any] struct {
	read  bool
	value T
	err   error
}

func (c *cached[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	if !c.read {
		c.value, c.err = bounded(ctx, read)
		c.read = true
	}
	return c.value, c.err
}

// bounded reads, and gives up after timeouts.Read even when the reading does
// not: a kubeconfig may run a program to get a credential, and client-go waits
// for that without end.
func bounded[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeouts.Read)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		defer GinkgoRecover()
		value, err := read(ctx)
		answered <- answer{value, err}
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
