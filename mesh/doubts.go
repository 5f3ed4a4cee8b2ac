package mesh

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// doubts are the facts that forbid calling l an orphan.
func (w World) doubts(l Lease) []string {
	var doubts []string
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }

	if e, r, ok := ParseElectionLease(l.Name); !ok || e != l.Election || r != l.Revision {
		doubt("its name is not %s", LeaseName(l.Election, l.Revision))
	}
	if !l.Revision.OfAddOn() {
		doubt("revision %s has not the form asm-<major>-<minor> of AKS's add-on", l.Revision)
	}
	if !w.Life.Complete {
		doubt("the signs of life in the cluster were not read completely")
	}
	if l.UID == "" || l.ResourceVersion == "" {
		doubt("it has no UID or no resourceVersion to bind a deletion to")
	}
	if l.Coordinated {
		doubt("its spec has a strategy or a preferred holder, which istiod never writes")
	}
	if l.Deleting {
		doubt("somebody else is deleting it")
	}
	doubts = append(doubts, w.doubtfulTimes(l)...)
	doubts = append(doubts, w.doubtfulHolder(l)...)
	return append(doubts, foreignMarks(l)...)
}

func (w World) doubtfulTimes(l Lease) []string {
	var doubts []string
	if w.Now.IsZero() {
		doubts = append(doubts, "the API server's time is not known, or differs from this machine's by over a minute")
	}
	if l.DurationSeconds == nil {
		doubts = append(doubts, "it names no lease duration")
	}
	switch {
	case l.Renewed == nil:
		doubts = append(doubts, "it names no renewal")
	case w.future(*l.Renewed):
		doubts = append(doubts, fmt.Sprintf("renewed %s, after the API server's time %s", Stamp(*l.Renewed), Stamp(w.Now)))
	}
	for _, writer := range l.Writers {
		switch {
		case writer.Time == nil:
			doubts = append(doubts, fmt.Sprintf("the time of the last write by %s is not recorded", Printable(writer.Manager)))
		case w.future(*writer.Time):
			doubts = append(doubts, fmt.Sprintf("written by %s at %s, after the API server's time %s", Printable(writer.Manager), Stamp(*writer.Time), Stamp(w.Now)))
		}
	}
	return doubts
}

func (w World) doubtfulHolder(l Lease) []string {
	switch {
	case l.Holder == nil:
		return []string{"it has no holder field, which istiod always writes"}
	case *l.Holder == "":
		return nil
	}
	var doubts []string
	if !istiodPod(*l.Holder, l.Revision) {
		doubts = append(doubts, fmt.Sprintf("holder %s is not named as an istiod pod of %s: it may run outside this cluster", Printable(*l.Holder), l.Revision))
	}
	if phase, exists := w.Life.Pods[*l.Holder]; exists {
		doubts = append(doubts, fmt.Sprintf("a pod of the holder's name %s exists (phase %s)", Printable(*l.Holder), Printable(phase)))
	}
	return doubts
}

// foreignMarks are signs that l is more than istiod's own lease: istiod writes
// no owner, finalizer, label or annotation on it.
func foreignMarks(l Lease) []string {
	var marks []string
	for _, o := range l.Owners {
		marks = append(marks, "it has the owner "+Printable(o))
	}
	for _, f := range l.Finalizers {
		marks = append(marks, "it has the finalizer "+Printable(f))
	}
	for _, k := range slices.Sorted(maps.Keys(l.Annotations)) {
		marks = append(marks, "it has the annotation "+Printable(k))
	}
	// The labels that istio/istio#61317 proposes are istiod's own if they agree.
	own := map[string]string{"istio.io/rev": string(l.Revision), "operator.istio.io/component": "Pilot"}
	for _, k := range slices.Sorted(maps.Keys(l.Labels)) {
		if want, known := own[k]; !known || l.Labels[k] != want {
			marks = append(marks, Printable(fmt.Sprintf("it has the label %s=%s", k, l.Labels[k])))
		}
	}
	if len(l.Writers) == 0 {
		marks = append(marks, "no record of who wrote it")
	}
	for _, writer := range l.Writers {
		if writer.Manager != FieldManager {
			marks = append(marks, fmt.Sprintf("%s has written it, not only istiod (%s)", Printable(writer.Manager), FieldManager))
		}
	}
	return marks
}

// istiodPod reports whether name is that of a pod of a Deployment
// istiod-<revision>: two generated parts follow.
func istiodPod(name string, r Revision) bool {
	rest, ok := strings.CutPrefix(name, "istiod-"+string(r)+"-")
	return ok && podHash.MatchString(rest)
}

var podHash = regexp.MustCompile(`^[a-z0-9]+-[a-z0-9]+$`)
