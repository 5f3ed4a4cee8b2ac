package postupgrade

import "context"

// cached remembers the first answer of a reading, also when it is an error: a
// run that cannot read ARM need not wait for it once a spec.
type cached[T any] struct {
	read  bool
	value T
	err   error
}

func (c *cached[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	if !c.read {
		ctx, cancel := context.WithTimeout(ctx, timeouts.Read)
		defer cancel()
		c.value, c.err = read(ctx)
		c.read = true
	}
	return c.value, c.err
}
