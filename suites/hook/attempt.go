// Package hook tells the failure of an assertion from everything else that ends
// a spec, so that a repair can hang on the one and never on the other.
package hook

import (
	"github.com/onsi/gomega"
)

// Attempt makes the assertions in check, and returns the message of the first
// that was made through its g and failed, or the empty string.
//
// Whatever else ends check goes on to the caller untouched: a panic, a plain
// Expect, Fail or Skip. So does the end of a context, since an assertion on what
// could not be read is to be made outside of g.
func Attempt(check func(g gomega.Gomega)) (failure string) {
	type verdict string
	defer func() {
		if raised := recover(); raised != nil {
			v, ours := raised.(verdict)
			if !ours {
				panic(raised)
			}
			failure = string(v)
		}
	}()
	check(gomega.NewGomega(func(message string, _ ...int) { panic(verdict(message)) }))
	return ""
}
