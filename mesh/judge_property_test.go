package mesh_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// worlds is how many random worlds one run of the tests judges.
const worlds = 20_000

func TestNothingButOrphansIsEverOrphaned(t *testing.T) {
	if err := flag.Set("rapid.checks", fmt.Sprint(worlds)); err != nil {
		t.Fatal(err)
	}
	orphaned := 0
	rapid.Check(t, func(t *rapid.T) { orphaned += judgeRandomWorld(t) })
	// Worlds in which nothing can be deleted would prove nothing.
	if orphaned < worlds/40 {
		t.Errorf("only %d orphans in %d worlds", orphaned, worlds)
	}
	t.Logf("%d orphans in %d worlds", orphaned, worlds)
}

func FuzzNothingButOrphansIsEverOrphaned(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { judgeRandomWorld(t) }))
}

// judgeRandomWorld draws a world, judges it, holds every orphan against the
// invariant, and returns how many there were.
func judgeRandomWorld(t *rapid.T) (orphaned int) {
	w := drawWorld(t)
	judgements := mesh.Judge(w)
	if len(judgements) != len(w.Leases) {
		t.Fatalf("%d judgements of %d leases", len(judgements), len(w.Leases))
	}
	for _, j := range judgements {
		if len(j.Evidence) == 0 {
			t.Errorf("verdict %s on %s without evidence", j.Verdict, j.Lease.Name)
		}
		if j.Verdict != mesh.Orphaned {
			continue
		}
		orphaned++
		for _, why := range mustKeep(w, j.Lease) {
			t.Errorf("%s is called orphaned, but %s", j.Lease.Name, why)
		}
	}
	return orphaned
}

// mustKeep is the invariant: the reasons for which l must never be deleted. It
// is written from the safety rules, and shares no code with the judge.
func mustKeep(w mesh.World, l mesh.Lease) (reasons []string) {
	must := func(keep bool, format string, args ...any) {
		if keep {
			reasons = append(reasons, fmt.Sprintf(format, args...))
		}
	}
	i, revision := w.Installation, string(l.Revision)
	must(i.ProvisioningState != "Succeeded" || i.PowerState == "Stopped", "provisioning has not succeeded")
	must(i.UpgradeInProgress != "", "an upgrade is in progress")
	must(len(i.Revisions) != 1 || i.Revisions[0] != string(w.Target) || i.MeshMode != "Istio", "the target is not the one installed revision")
	must(slices.Contains(i.Revisions, revision), "its revision is installed")
	must(revision == string(w.Target), "its revision is the target")
	must(!regexp.MustCompile(`^asm-\d+-\d+$`).MatchString(revision), "its revision is not the add-on's")
	must(l.Name != "istio-gateway-deployment-"+revision && l.Name != "istio-gateway-status-leader-"+revision, "its name is no election of its revision")

	must(!w.Life.Complete, "evidence was not read completely")
	for _, s := range w.Life.Signs {
		must(string(s.Revision) == revision, "%s lives", s.What)
	}
	if l.Holder == nil {
		must(true, "its holder is unknown")
	} else if *l.Holder != "" {
		_, there := w.Life.Pods[*l.Holder]
		must(there, "its holder exists")
		must(!regexp.MustCompile(`^istiod-`+regexp.QuoteMeta(revision)+`-[a-z0-9]+-[a-z0-9]+$`).MatchString(*l.Holder), "its holder may be outside")
	}

	silence := max(w.Grace, 30*time.Second)
	if l.DurationSeconds == nil {
		must(true, "its duration is unknown")
	} else {
		silence = max(silence, time.Duration(*l.DurationSeconds)*time.Second)
	}
	silent := func(t *time.Time) bool {
		return t != nil && !w.Now.IsZero() && w.Now.Sub(*t) >= silence
	}
	must(!silent(l.Renewed), "it was renewed within the grace, in the future, or never")
	must(len(l.Writers) == 0, "nobody knows who wrote it")
	for _, writer := range l.Writers {
		must(!silent(writer.Time), "it was written within the grace, or in the future")
		must(writer.Manager != "pilot-discovery", "%s wrote it", writer.Manager)
	}

	must(len(l.Owners) > 0, "it has an owner")
	must(len(l.Finalizers) > 0, "it has a finalizer")
	must(len(l.Annotations) > 0, "it has an annotation")
	for k, v := range l.Labels {
		ours := k == "istio.io/rev" && v == revision || k == "operator.istio.io/component" && v == "Pilot"
		must(!ours, "it has the label %s=%s", k, v)
	}
	must(l.Deleting, "somebody deletes it")
	must(l.Coordinated, "the API server hands it out")
	must(l.UID == "" || l.ResourceVersion == "", "its deletion could not be bound to its state")
	return reasons
}

var revisions = []string{"asm-1-27", "asm-1-28", "asm-1-29", "asm-11-28", "1-28", "1-29", "default", "canary", "asm-1-2", ""}

// drawWorld draws mostly plausible worlds, in which any fact may be off: a
// world of pure noise would never hold an orphan.
func drawWorld(t *rapid.T) mesh.World {
	target := rapid.SampledFrom(revisions[:4]).Draw(t, "target")
	w := mesh.World{
		Target: mesh.Revision(target),
		Now:    usually(t, "now", now, time.Time{}),
		Grace:  rapid.SampledFrom([]time.Duration{10 * time.Minute, time.Minute, 0, -time.Hour, 2 * time.Hour}).Draw(t, "grace"),
		Installation: mesh.Installation{
			Source:            "ARM",
			ProvisioningState: usually(t, "state", "Succeeded", "Updating", "Failed", "", "succeeded"),
			PowerState:        usually(t, "power", "Running", "Stopped", ""),
			MeshMode:          usually(t, "mode", "Istio", "Disabled", ""),
			UpgradeInProgress: usually(t, "upgrade", "", "ARM answered 409"),
			Revisions:         usually(t, "revisions", []string{target}, nil, []string{}, []string{"asm-1-28"}, []string{"asm-1-28", target}, []string{target, target}, []string{target, "asm 1"}),
		},
		Life: mesh.Life{Complete: usually(t, "complete", true, false), Pods: map[string]string{}},
	}
	for range rapid.IntRange(0, 2).Draw(t, "signs") {
		w.Life.Signs = append(w.Life.Signs, mesh.Sign{Revision: mesh.Revision(rapid.SampledFrom(revisions).Draw(t, "sign")), What: "something"})
	}
	for range rapid.IntRange(1, 4).Draw(t, "leases") {
		l := drawLease(t)
		w.Leases = append(w.Leases, l)
		if l.Holder != nil && rapid.IntRange(0, 5).Draw(t, "pod") == 0 {
			w.Life.Pods[*l.Holder] = rapid.SampledFrom([]string{"Running", "Failed", ""}).Draw(t, "phase")
		}
	}
	return w
}

func drawLease(t *rapid.T) mesh.Lease {
	revision := rapid.SampledFrom(revisions).Draw(t, "revision")
	election := rapid.SampledFrom(mesh.Elections()).Draw(t, "election")
	l := mesh.Lease{
		Namespace: "aks-istio-system", Election: election, Revision: mesh.Revision(revision),
		Name:            usually(t, "name", string(election)+"-"+revision, "istio-status-leader", string(election)+"-x-"+revision, "istio-gateway-deployment-asm-1-29"),
		UID:             usually(t, "uid", "u", ""),
		ResourceVersion: usually(t, "version", "7", ""),
		Holder:          usually(t, "holder", ptr("istiod-"+revision+"-7d9f5c6b8-x2x4z"), ptr(""), nil, ptr("not-on-kubernetes"), ptr("istiod-asm-1-29-a-b"), ptr("istiod-"+revision+"-0")),
		DurationSeconds: usually(t, "duration", ptr(int32(30)), ptr(int32(1)), nil, ptr(int32(7200)), ptr(int32(-1))),
		Renewed:         drawTime(t, "renewed"),
		Deleting:        usually(t, "deleting", false, true),
		Coordinated:     usually(t, "coordinated", false, true),
		Owners:          usually(t, "owners", nil, []string{"Deployment x"}),
		Finalizers:      usually(t, "finalizers", nil, []string{"f/x"}),
		Annotations:     usually(t, "annotations", nil, map[string]string{"leader.istio.io/holder-key": "x"}, map[string]string{"a": ""}),
		Labels:          usually(t, "labels", nil, map[string]string{"istio.io/rev": revision}, map[string]string{"istio.io/rev": "asm-1-29"}, map[string]string{"app": "x"}),
	}
	for range usually(t, "writers", 1, 0, 2) {
		l.Writers = append(l.Writers, mesh.Writer{Manager: usually(t, "manager", "pilot-discovery", "kubectl-edit", ""), Time: drawTime(t, "written")})
	}
	return l
}

func drawTime(t *rapid.T, label string) *time.Time {
	if rapid.IntRange(0, 39).Draw(t, label+" given") == 0 {
		return nil
	}
	ago := usually(t, label, 3*time.Hour, time.Second, 29*time.Second, 30*time.Second, 10*time.Minute, 10*time.Minute-time.Nanosecond, -time.Hour, -time.Second, 0)
	return ptr(now.Add(-ago))
}

// usually draws the usual value 24 times out of 25, and else one of the others.
func usually[T any](t *rapid.T, label string, usual T, others ...T) T {
	if rapid.IntRange(0, 24).Draw(t, label+"?") > 0 {
		return usual
	}
	return rapid.SampledFrom(others).Draw(t, label)
}
