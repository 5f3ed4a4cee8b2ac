package mesh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is what the facts say of an election lease.
type Verdict string

// The verdicts. Only Orphaned ever allows a deletion.
const (
	// Current: its revision is installed or is the target.
	Current Verdict = "current"
	// Orphaned: its revision is retired, and all evidence says that nobody
	// holds, renews or owns the lease.
	Orphaned Verdict = "orphaned"
	// Alive: its revision is retired, yet something of it lives.
	Alive Verdict = "alive"
	// Unclear: neither is proven.
	Unclear Verdict = "unclear"
)

// World is everything that a lease is judged by, read at one time.
type World struct {
	Installation Installation `json:"installation"`
	// Target is the revision that the pipeline upgraded to.
	Target Revision `json:"target"`
	Leases []Lease  `json:"leases"`
	Life   Life     `json:"life"`
	// Now is the API server's time, from the Date of its answers. Zero means
	// that it is not known.
	Now time.Time `json:"now"`
	// Grace is how long a lease must have been silent. A value under MinGrace
	// counts as MinGrace.
	Grace time.Duration `json:"grace"`
}

// MinGrace is the shortest grace: the 30 s for which a killed istiod goes on
// holding its lease (istio/istio, pilot/pkg/leaderelection).
const MinGrace = 30 * time.Second

// FieldManager is the name under which istiod writes its leases: that of its
// program, as client-go sends it (measured on Istio 1.28 and 1.29).
const FieldManager = "pilot-discovery"

// Judgement is a lease with its verdict and the evidence for it.
type Judgement struct {
	Lease   Lease   `json:"lease"`
	Verdict Verdict `json:"verdict"`
	// Evidence are the facts behind the verdict, one phrase each.
	Evidence []string `json:"evidence"`
	// Holder is the holder in words: "holder X (no such pod)".
	Holder string `json:"holder"`
}

// Retired reports whether the lease's revision is neither installed nor the
// target, whatever else is known of it.
func (j Judgement) Retired() bool { return j.Verdict != Current }

// Judge gives a verdict on every lease, sorted by name. It is the only place
// that decides what may be deleted.
func Judge(w World) []Judgement {
	unsettled := w.Installation.Unsettled(w.Target)
	judgements := make([]Judgement, 0, len(w.Leases))
	for _, l := range w.Leases {
		judgements = append(judgements, w.judge(l, unsettled))
	}
	slices.SortFunc(judgements, func(a, b Judgement) int { return cmp.Compare(a.Lease.Name, b.Lease.Name) })
	return judgements
}

func (w World) judge(l Lease, unsettled []string) Judgement {
	j := Judgement{Lease: l, Holder: w.holder(l)}
	switch {
	case w.Installation.Installed(l.Revision):
		j.Verdict, j.Evidence = Current, []string{fmt.Sprintf("revision %s is installed", l.Revision)}
		return j
	case l.Revision == w.Target:
		j.Verdict, j.Evidence = Current, []string{fmt.Sprintf("revision %s is the target", l.Revision)}
		return j
	}
	alive, doubts := w.signsOfLife(l), slices.Concat(unsettled, w.doubts(l))
	switch {
	case len(alive) > 0:
		j.Verdict, j.Evidence = Alive, slices.Concat(alive, doubts)
	case len(doubts) > 0:
		j.Verdict, j.Evidence = Unclear, doubts
	default:
		j.Verdict, j.Evidence = Orphaned, []string{
			fmt.Sprintf("revision %s is neither installed nor the target", l.Revision),
			"no Deployment, Service, pod, injector webhook or tag of it",
			j.Holder,
			fmt.Sprintf("renewed %s and last written %s, both over %s before %s", Stamp(*l.Renewed), Stamp(lastWrite(l)), w.silence(l), Stamp(w.Now)),
		}
	}
	return j
}

// signsOfLife are the facts that prove somebody lives who could hold l.
func (w World) signsOfLife(l Lease) []string {
	var signs []string
	for _, what := range w.Life.Of(l.Revision) {
		signs = append(signs, Printable(what)+" exists")
	}
	// A future time is no proof of life: the clock that wrote it is wrong.
	recent := func(t time.Time) bool { return !w.future(t) && w.Now.Sub(t) < w.silence(l) }
	if w.Now.IsZero() {
		return signs
	}
	if l.Renewed != nil && recent(*l.Renewed) {
		signs = append(signs, fmt.Sprintf("renewed %s, less than %s before %s", Stamp(*l.Renewed), w.silence(l), Stamp(w.Now)))
	}
	if written := lastWrite(l); !written.IsZero() && recent(written) {
		signs = append(signs, fmt.Sprintf("last written %s by the API server's clock, less than %s before %s", Stamp(written), w.silence(l), Stamp(w.Now)))
	}
	return signs
}

// future reports whether t lies after the API server's time, which the Date of
// its answers gives in whole seconds.
func (w World) future(t time.Time) bool { return t.After(w.Now.Add(time.Second)) }

// silence is how long l must have been silent: the grace, and never less than
// the lease's own duration or MinGrace.
func (w World) silence(l Lease) time.Duration {
	silence := max(w.Grace, MinGrace)
	if l.DurationSeconds != nil {
		silence = max(silence, time.Duration(*l.DurationSeconds)*time.Second)
	}
	return silence
}

// lastWrite is the latest write by the API server's clock, or zero.
func lastWrite(l Lease) time.Time {
	var last time.Time
	for _, w := range l.Writers {
		if w.Time != nil && w.Time.After(last) {
			last = *w.Time
		}
	}
	return last
}

func (w World) holder(l Lease) string {
	switch {
	case l.Holder == nil:
		return "holder unknown"
	case *l.Holder == "":
		return "holder none (released)"
	case !w.Life.Complete:
		return "holder " + Printable(*l.Holder)
	}
	if phase, exists := w.Life.Pods[*l.Holder]; exists {
		return fmt.Sprintf("holder %s (pod %s)", Printable(*l.Holder), Printable(phase))
	}
	return fmt.Sprintf("holder %s (no such pod)", Printable(*l.Holder))
}

// Stamp writes a time as messages do: UTC, to the second.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// GomegaString is the judgement in one line of a failure message.
func (j Judgement) GomegaString() string {
	renewed := "never renewed"
	if j.Lease.Renewed != nil {
		renewed = "renewed " + Stamp(*j.Lease.Renewed)
	}
	line := fmt.Sprintf("%s  revision %s, %s, %s", j.Lease.Name, j.Lease.Revision, j.Holder, renewed)
	if j.Verdict == Orphaned {
		return line + ": orphaned"
	}
	return fmt.Sprintf("%s: %s: %s", line, j.Verdict, strings.Join(j.Evidence, "; "))
}
