package mesh_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

var now = time.Date(2026, 7, 22, 13, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// orphan is the lease of asm-1-28 that a killed istiod left three hours ago.
func orphan() mesh.Lease {
	return mesh.Lease{
		Namespace: "aks-istio-system", Name: "istio-gateway-deployment-asm-1-28", Election: mesh.GatewayDeployment, Revision: "asm-1-28",
		UID: "u1", ResourceVersion: "7", Holder: ptr("istiod-asm-1-28-7d9f5c6b8-x2x4z"), DurationSeconds: ptr(int32(30)),
		Renewed: ptr(now.Add(-3 * time.Hour)), Writers: []mesh.Writer{{Manager: "pilot-discovery", Time: ptr(now.Add(-3 * time.Hour))}},
	}
}

func worldOf(l mesh.Lease) mesh.World {
	return mesh.World{
		Installation: settled(), Target: target, Leases: []mesh.Lease{l}, Now: now, Grace: 10 * time.Minute,
		Life: mesh.Life{Complete: true, Signs: []mesh.Sign{{Revision: target, What: "Deployment istiod-asm-1-29"}}, Pods: map[string]string{"istiod-asm-1-29-a-b": "Running"}},
	}
}

func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*mesh.World, *mesh.Lease)
		verdict mesh.Verdict
		says    string
	}{
		"killed, its pod gone": {func(*mesh.World, *mesh.Lease) {}, mesh.Orphaned, "holder istiod-asm-1-28-7d9f5c6b8-x2x4z (no such pod)"},
		"released":             {func(_ *mesh.World, l *mesh.Lease) { l.Holder, l.DurationSeconds = ptr(""), ptr(int32(1)) }, mesh.Orphaned, "holder none (released)"},
		"higher than the target": {func(w *mesh.World, _ *mesh.Lease) {
			w.Target, w.Installation.Revisions = "asm-1-27", []string{"asm-1-27"}
		}, mesh.Orphaned, "neither installed nor the target"},
		"labels of istio/istio#61317 that agree": {func(_ *mesh.World, l *mesh.Lease) {
			l.Labels = map[string]string{"istio.io/rev": "asm-1-28", "operator.istio.io/component": "Pilot"}
		}, mesh.Orphaned, ""},

		"installed":                     {func(w *mesh.World, _ *mesh.Lease) { w.Installation.Revisions = []string{"asm-1-28", "asm-1-29"} }, mesh.Current, "installed"},
		"the target, not yet installed": {func(w *mesh.World, _ *mesh.Lease) { w.Target = "asm-1-28" }, mesh.Current, "target"},

		"a Deployment of it":            {sign("Deployment istiod-asm-1-28"), mesh.Alive, "Deployment istiod-asm-1-28 exists"},
		"a tag of it":                   {sign("revision tag prod, webhook w"), mesh.Alive, "revision tag prod"},
		"renewed within the grace":      {func(_ *mesh.World, l *mesh.Lease) { l.Renewed = ptr(now.Add(-9 * time.Minute)) }, mesh.Alive, "renewed 2026-07-22T12:51:00Z"},
		"written within the grace":      {func(_ *mesh.World, l *mesh.Lease) { l.Writers[0].Time = ptr(now.Add(-time.Minute)) }, mesh.Alive, "last written 2026-07-22T12:59:00Z by the API server's clock"},
		"renewed in the running second": {func(_ *mesh.World, l *mesh.Lease) { l.Renewed = ptr(now.Add(700 * time.Millisecond)) }, mesh.Alive, "renewed"},
		"a longer lease":                {func(_ *mesh.World, l *mesh.Lease) { l.DurationSeconds = ptr(int32(4 * 3600)) }, mesh.Alive, "less than 4h0m0s"},
		"no grace still means 30 s":     {func(w *mesh.World, l *mesh.Lease) { w.Grace, l.Renewed = 0, ptr(now.Add(-29*time.Second)) }, mesh.Alive, "less than 30s"},

		"mesh not settled":            {func(w *mesh.World, _ *mesh.Lease) { w.Installation.ProvisioningState = "Updating" }, mesh.Unclear, "Updating"},
		"upgrade in progress":         {func(w *mesh.World, _ *mesh.Lease) { w.Installation.UpgradeInProgress = "409" }, mesh.Unclear, "409"},
		"life not read":               {func(w *mesh.World, _ *mesh.Lease) { w.Life = mesh.Life{} }, mesh.Unclear, "not read completely"},
		"life read in part":           {func(w *mesh.World, _ *mesh.Lease) { w.Life.Complete = false }, mesh.Unclear, "not read completely"},
		"time not known":              {func(w *mesh.World, _ *mesh.Lease) { w.Now = time.Time{} }, mesh.Unclear, "time is not known"},
		"renewed in the future":       {func(_ *mesh.World, l *mesh.Lease) { l.Renewed = ptr(now.Add(time.Minute)) }, mesh.Unclear, "after the API server's time"},
		"written in the future":       {func(_ *mesh.World, l *mesh.Lease) { l.Writers[0].Time = ptr(now.Add(time.Minute)) }, mesh.Unclear, "after the API server's time"},
		"never renewed":               {func(_ *mesh.World, l *mesh.Lease) { l.Renewed = nil }, mesh.Unclear, "names no renewal"},
		"no duration":                 {func(_ *mesh.World, l *mesh.Lease) { l.DurationSeconds = nil }, mesh.Unclear, "no lease duration"},
		"no holder field":             {func(_ *mesh.World, l *mesh.Lease) { l.Holder = nil }, mesh.Unclear, "no holder field"},
		"its pod exists":              {func(w *mesh.World, l *mesh.Lease) { w.Life.Pods[*l.Holder] = "Failed" }, mesh.Unclear, "exists (phase Failed)"},
		"held from elsewhere":         {func(_ *mesh.World, l *mesh.Lease) { l.Holder = ptr("not-on-kubernetes") }, mesh.Unclear, "may run outside this cluster"},
		"held by another revision":    {func(_ *mesh.World, l *mesh.Lease) { l.Holder = ptr("istiod-asm-1-280-7d9f5c6b8-x2x4z") }, mesh.Unclear, "may run outside this cluster"},
		"held by a StatefulSet":       {func(_ *mesh.World, l *mesh.Lease) { l.Holder = ptr("istiod-asm-1-28-0") }, mesh.Unclear, "may run outside this cluster"},
		"an owner":                    {func(_ *mesh.World, l *mesh.Lease) { l.Owners = []string{"Deployment x"} }, mesh.Unclear, "owner Deployment x"},
		"a finalizer":                 {func(_ *mesh.World, l *mesh.Lease) { l.Finalizers = []string{"f/x"} }, mesh.Unclear, "finalizer f/x"},
		"a label":                     {func(_ *mesh.World, l *mesh.Lease) { l.Labels = map[string]string{"app": "mine"} }, mesh.Unclear, "label app=mine"},
		"a label of another revision": {func(_ *mesh.World, l *mesh.Lease) { l.Labels = map[string]string{"istio.io/rev": "asm-1-27"} }, mesh.Unclear, "label istio.io/rev=asm-1-27"},
		"the holder-key annotation": {func(_ *mesh.World, l *mesh.Lease) {
			l.Annotations = map[string]string{"leader.istio.io/holder-key": "x"}
		}, mesh.Unclear, "annotation leader.istio.io/holder-key"},
		"written by kubectl too": {func(_ *mesh.World, l *mesh.Lease) {
			l.Writers = append(l.Writers, mesh.Writer{Manager: "kubectl-edit", Time: ptr(now.Add(-3 * time.Hour))})
		}, mesh.Unclear, "kubectl-edit has written it"},
		"writer not recorded":           {func(_ *mesh.World, l *mesh.Lease) { l.Writers = nil }, mesh.Unclear, "no record of who wrote it"},
		"time of write not told":        {func(_ *mesh.World, l *mesh.Lease) { l.Writers[0].Time = nil }, mesh.Unclear, "is not recorded"},
		"coordinated by the API server": {func(_ *mesh.World, l *mesh.Lease) { l.Coordinated = true }, mesh.Unclear, "a strategy or a preferred holder"},
		"a holder that forges lines":    {func(_ *mesh.World, l *mesh.Lease) { l.Holder = ptr("x\nPASS ##vso[task.complete]") }, mesh.Unclear, `holder x\nPASS # #vso[task.complete] is not named`},
		"being deleted":                 {func(_ *mesh.World, l *mesh.Lease) { l.Deleting = true }, mesh.Unclear, "somebody else is deleting it"},
		"no UID":                        {func(_ *mesh.World, l *mesh.Lease) { l.UID = "" }, mesh.Unclear, "no UID"},
		"no resourceVersion":            {func(_ *mesh.World, l *mesh.Lease) { l.ResourceVersion = "" }, mesh.Unclear, "no resourceVersion"},
		"not the add-on's revision":     {func(_ *mesh.World, l *mesh.Lease) { l.Name, l.Revision = "istio-gateway-deployment-default", "default" }, mesh.Unclear, "has not the form"},
		"suffix of a live revision":     {func(_ *mesh.World, l *mesh.Lease) { l.Name, l.Revision = "istio-gateway-deployment-1-29", "1-29" }, mesh.Unclear, "has not the form"},
		"facts of another name":         {func(_ *mesh.World, l *mesh.Lease) { l.Name = "istio-gateway-deployment-asm-1-29" }, mesh.Unclear, "its name is not"},
	} {
		t.Run(name, func(t *testing.T) {
			l := orphan()
			w := worldOf(l)
			test.change(&w, &l)
			w.Leases = []mesh.Lease{l}
			j := mesh.Judge(w)[0]
			if j.Verdict != test.verdict || !strings.Contains(strings.Join(j.Evidence, "\n"), test.says) {
				t.Errorf("verdict %s, evidence %q; want %s with %q", j.Verdict, j.Evidence, test.verdict, test.says)
			}
			if j.Retired() != (test.verdict != mesh.Current) {
				t.Errorf("retired: %v", j.Retired())
			}
		})
	}
}

func sign(what string) func(*mesh.World, *mesh.Lease) {
	return func(w *mesh.World, l *mesh.Lease) {
		w.Life.Signs = append(w.Life.Signs, mesh.Sign{Revision: l.Revision, What: what})
	}
}

func TestJudgementReadsAsOneLine(t *testing.T) {
	released := orphan()
	released.Holder = ptr("")
	released.Labels = map[string]string{"app": "mine"}
	for want, l := range map[string]mesh.Lease{
		"istio-gateway-deployment-asm-1-28  revision asm-1-28, holder istiod-asm-1-28-7d9f5c6b8-x2x4z (no such pod), renewed 2026-07-22T10:00:00Z: orphaned": orphan(),
		"istio-gateway-deployment-asm-1-28  revision asm-1-28, holder none (released), renewed 2026-07-22T10:00:00Z: unclear: it has the label app=mine":     released,
	} {
		if got := mesh.Judge(worldOf(l))[0].GomegaString(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A world that was kept as JSON is judged the same again.
func TestWorldSurvivesJSON(t *testing.T) {
	w := worldOf(orphan())
	kept, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var again mesh.World
	if err := json.Unmarshal(kept, &again); err != nil {
		t.Fatal(err)
	}
	if got, want := mesh.Judge(again)[0].GomegaString(), mesh.Judge(w)[0].GomegaString(); got != want {
		t.Errorf("judged %s, want %s", got, want)
	}
}
