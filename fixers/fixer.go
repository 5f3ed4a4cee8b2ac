// Package fixers holds what every fixer has in common: the contract, the gate
// before it, the outcome after it, and the record of what it deletes.
//
// Fixers are ordinary libraries: a Go program can call one without Ginkgo. A
// fixer trusts nobody's findings. It reads everything again, and it deletes
// only what it has itself proven to be an orphan.
package fixers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// Fixer repairs one kind of fault.
type Fixer interface {
	// Fix reads the world afresh, passes the gate, plans, records, deletes
	// exactly the plan, and reads again. The outcome says what was done, also
	// when there is an error: ErrRefused when the gate or a limit forbade
	// everything, ErrCameBack when a deleted object reappeared, or what the
	// APIs answered, joined.
	Fix(ctx context.Context) (Outcome, error)
}

var (
	// ErrRefused means that nothing was deleted because the gate or a limit
	// forbade it. The outcome has the reasons.
	ErrRefused = errors.New("refused to fix")
	// ErrCameBack means that an object reappeared after its deletion: whoever
	// made it again is not retired.
	ErrCameBack = errors.New("came back after its deletion")
)

// Action is what became of one object.
type Action string

// The actions.
const (
	// Deleted: the API server deleted it at our request.
	Deleted Action = "deleted"
	// AlreadyGone: it was gone before our request.
	AlreadyGone Action = "already gone"
	// Kept: it was left alone, on purpose.
	Kept Action = "kept"
	// Failed: its deletion was asked for and not confirmed.
	Failed Action = "failed"
	// NotTried: the fixer was interrupted before it.
	NotTried Action = "not tried"
	// CameBack: it was deleted and is there again.
	CameBack Action = "came back"
)

// Result is what a fixer did with one object, and why.
type Result struct {
	// Object is its kind and name: "lease istio-gateway-deployment-asm-1-28".
	Object string `json:"object"`
	UID    string `json:"uid"`
	Action Action `json:"action"`
	// Why is the evidence for the decision, or the error.
	Why string `json:"why,omitempty"`
}

// Outcome is everything that one call of a fixer did. The zero value means that
// it did nothing.
type Outcome struct {
	// Refused has the reasons for which the fixer refused to delete anything.
	Refused []string `json:"refused,omitempty"`
	Results []Result `json:"results,omitempty"`
	// RestoreFile holds the manifests of what was deleted, for
	// `kubectl create -f`. Empty when certainly nothing was deleted.
	RestoreFile string `json:"restoreFile,omitempty"`
	// AuditFile has a line for each decision and each result.
	AuditFile string `json:"auditFile,omitempty"`
	// Error is what went wrong beside single objects: something could not be
	// read, recorded, or looked at again. Empty when nothing did.
	Error string `json:"error,omitempty"`
}

// Of returns the outcome with only those results that belong: what one spec,
// of several that share a fixer, has to do with.
func (o Outcome) Of(belongs func(Result) bool) Outcome {
	var own []Result
	for _, r := range o.Results {
		if belongs(r) {
			own = append(own, r)
		}
	}
	o.Results = own
	return o
}

// String is the outcome in lines: why the fixer refused, what became of each
// object and why, and what else went wrong.
func (o Outcome) String() string {
	var lines []string
	for _, reason := range o.Refused {
		lines = append(lines, "refused: "+reason)
	}
	for _, r := range o.Results {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", r.Object, r.Action, r.Why))
	}
	if o.Error != "" {
		lines = append(lines, "error: "+mesh.Printable(strings.ReplaceAll(o.Error, "\n", "; ")))
	}
	if len(lines) == 0 {
		return "found nothing that it may delete"
	}
	return strings.Join(lines, "\n")
}

// Count returns how many objects ended with that action.
func (o Outcome) Count(a Action) int {
	n := 0
	for _, r := range o.Results {
		if r.Action == a {
			n++
		}
	}
	return n
}
