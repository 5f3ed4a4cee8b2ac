package mesh_test

import (
	"strings"
	"testing"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

const target = mesh.Revision("asm-1-29")

func settled() mesh.Installation {
	return mesh.Installation{
		Source: "ARM serviceMeshProfile of c1", ProvisioningState: "Succeeded", PowerState: "Running", MeshMode: "Istio",
		Revisions: []string{"asm-1-29"}, APIServerNames: []string{"c1.hcp.example.com"},
	}
}

func TestUnsettled(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*mesh.Installation)
		// unmet are the conditions that do not hold, and says a part of why.
		unmet []mesh.Condition
		says  string
	}{
		"settled":                  {func(*mesh.Installation) {}, nil, ""},
		"power state not told":     {func(i *mesh.Installation) { i.PowerState = "" }, nil, ""},
		"stopped":                  {func(i *mesh.Installation) { i.PowerState = "Stopped" }, []mesh.Condition{mesh.Provisioned}, "power state is Stopped"},
		"updating":                 {func(i *mesh.Installation) { i.ProvisioningState = "Updating" }, []mesh.Condition{mesh.Provisioned}, "Updating"},
		"stopping":                 {func(i *mesh.Installation) { i.ProvisioningState = "Stopping" }, []mesh.Condition{mesh.Provisioned}, "Stopping"},
		"failed":                   {func(i *mesh.Installation) { i.ProvisioningState = "Failed" }, []mesh.Condition{mesh.Provisioned}, "ended without success"},
		"canceled":                 {func(i *mesh.Installation) { i.ProvisioningState = "Canceled" }, []mesh.Condition{mesh.Provisioned}, "ended without success"},
		"unknown state":            {func(i *mesh.Installation) { i.ProvisioningState = "Dreaming" }, []mesh.Condition{mesh.Provisioned}, "Dreaming"},
		"lower-case state":         {func(i *mesh.Installation) { i.ProvisioningState = "succeeded" }, []mesh.Condition{mesh.Provisioned}, "succeeded"},
		"no state":                 {func(i *mesh.Installation) { i.ProvisioningState = "" }, []mesh.Condition{mesh.Provisioned}, "names no provisioning state"},
		"upgrading":                {func(i *mesh.Installation) { i.UpgradeInProgress = "ARM answered 409" }, []mesh.Condition{mesh.NotUpgrading}, "ARM answered 409"},
		"two revisions":            {func(i *mesh.Installation) { i.Revisions = []string{"asm-1-28", "asm-1-29"} }, []mesh.Condition{mesh.OneRevision}, "asm-1-28, asm-1-29"},
		"twice the same":           {func(i *mesh.Installation) { i.Revisions = []string{"asm-1-29", "asm-1-29"} }, []mesh.Condition{mesh.OneRevision}, "asm-1-29, asm-1-29"},
		"another revision":         {func(i *mesh.Installation) { i.Revisions = []string{"asm-1-28"} }, []mesh.Condition{mesh.OnTarget}, "asm-1-29 is not installed: ARM lists asm-1-28"},
		"suffix of the target":     {func(i *mesh.Installation) { i.Revisions = []string{"1-29"} }, []mesh.Condition{mesh.OnTarget}, "1-29"},
		"malformed beside target":  {func(i *mesh.Installation) { i.Revisions = []string{"ASM 1.28", "asm-1-29"} }, []mesh.Condition{mesh.OneRevision}, "is no revision"},
		"empty name beside target": {func(i *mesh.Installation) { i.Revisions = []string{"", "asm-1-29"} }, []mesh.Condition{mesh.OneRevision}, "is no revision"},
		"nil revisions":            {func(i *mesh.Installation) { i.Revisions = nil }, []mesh.Condition{mesh.OneRevision, mesh.OnTarget}, "no revision"},
		"no profile":               {func(i *mesh.Installation) { i.MeshMode, i.Revisions = "", nil }, []mesh.Condition{mesh.OneRevision, mesh.OnTarget}, "no service mesh profile"},
		"disabled":                 {func(i *mesh.Installation) { i.MeshMode, i.Revisions = "Disabled", nil }, []mesh.Condition{mesh.OneRevision, mesh.OnTarget}, "mode Disabled"},
		"disabled, yet a revision": {func(i *mesh.Installation) { i.MeshMode = "Disabled" }, []mesh.Condition{mesh.OneRevision}, "mode Disabled"},
		"nothing known":            {func(i *mesh.Installation) { *i = mesh.Installation{} }, []mesh.Condition{mesh.Provisioned, mesh.OneRevision, mesh.OnTarget}, "no service mesh profile"},
	} {
		t.Run(name, func(t *testing.T) {
			i := settled()
			test.change(&i)
			var unmet []mesh.Condition
			for _, c := range mesh.Conditions() {
				if i.Unmet(c, target) != "" {
					unmet = append(unmet, c)
				}
			}
			if len(unmet) != len(test.unmet) {
				t.Fatalf("unmet are %q, want %q", unmet, test.unmet)
			}
			for n := range unmet {
				if unmet[n] != test.unmet[n] {
					t.Fatalf("unmet are %q, want %q", unmet, test.unmet)
				}
			}
			why := i.Unsettled(target)
			if len(why) != len(unmet) || !strings.Contains(strings.Join(why, "\n"), test.says) {
				t.Errorf("unsettled says %q, want %d reasons with %q", why, len(unmet), test.says)
			}
		})
	}
	if settled().Unmet("some other condition", target) == "" {
		t.Error("an unknown condition is met")
	}
}

func TestAPIServerNotOf(t *testing.T) {
	for name, test := range map[string]struct {
		server  mesh.APIServer
		aliases []string
		says    string
	}{
		"one of ARM's names":    {mesh.APIServer{Name: "c1.hcp.example.com"}, nil, ""},
		"in another case":       {mesh.APIServer{Name: "C1.HCP.example.com"}, nil, ""},
		"another cluster":       {mesh.APIServer{Name: "c2.hcp.example.com"}, nil, "leads to the API server c2.hcp.example.com, which is none of those that ARM names: c1.hcp.example.com"},
		"vouched for":           {mesh.APIServer{Name: "10.0.0.4"}, []string{"10.0.0.4"}, ""},
		"another vouched for":   {mesh.APIServer{Name: "10.0.0.4"}, []string{"10.0.0.5"}, "c1.hcp.example.com; nor one that the user vouches for: 10.0.0.5"},
		"longer name":           {mesh.APIServer{Name: "c1.hcp.example.com.evil.example"}, nil, "leads to"},
		"no name":               {mesh.APIServer{}, []string{""}, "leads to"},
		"name not proven":       {mesh.APIServer{Name: "c1.hcp.example.com", Unproven: "insecure-skip-tls-verify is set"}, nil, "insecure-skip-tls-verify is set"},
		"vouched but no proof":  {mesh.APIServer{Name: "10.0.0.4", Unproven: "it is reached without TLS"}, []string{"10.0.0.4"}, "without TLS"},
		"name of ARM not known": {mesh.APIServer{Name: "c3.hcp.example.com"}, nil, "leads to"},
	} {
		t.Run(name, func(t *testing.T) {
			why := test.server.NotOf(settled(), test.aliases)
			if (why == "") != (test.says == "") || !strings.Contains(why, test.says) {
				t.Errorf("NotOf says %q, want %q in it", why, test.says)
			}
		})
	}
	if why := (mesh.APIServer{Name: "x"}).NotOf(mesh.Installation{Source: "ARM"}, nil); !strings.Contains(why, "ARM names: none") {
		t.Errorf("without any name, NotOf says %q", why)
	}
}

func TestTargetNotRolledOut(t *testing.T) {
	ready := mesh.ControlPlane{Name: "istiod-asm-1-29", Revision: target, Generation: 3, Observed: 3, Desired: 2, Updated: 2, Ready: 2, Available: 2, Total: 2}
	with := func(change func(*mesh.ControlPlane)) []mesh.ControlPlane {
		c := ready
		change(&c)
		return []mesh.ControlPlane{{Name: "istiod-asm-1-28", Revision: "asm-1-28"}, c}
	}
	for name, test := range map[string]struct {
		planes []mesh.ControlPlane
		says   string
	}{
		"rolled out":          {with(func(*mesh.ControlPlane) {}), ""},
		"none":                {nil, "no Deployment istiod-asm-1-29"},
		"only another":        {with(func(c *mesh.ControlPlane) { c.Revision = "1-29" }), "no Deployment istiod-asm-1-29"},
		"generation not seen": {with(func(c *mesh.ControlPlane) { c.Observed = 2 }), "generation 3 is not observed yet"},
		"none desired":        {with(func(c *mesh.ControlPlane) { c.Desired, c.Updated, c.Ready = 0, 0, 0 }), "no replica is desired"},
		"not all updated":     {with(func(c *mesh.ControlPlane) { c.Updated = 1 }), "updated 1"},
		"not all ready":       {with(func(c *mesh.ControlPlane) { c.Ready = 1 }), "ready 1"},
		"more are ready":      {with(func(c *mesh.ControlPlane) { c.Ready = 3 }), "ready 3"},
		"not all available":   {with(func(c *mesh.ControlPlane) { c.Available = 1 }), "available 1"},
		"being deleted":       {with(func(c *mesh.ControlPlane) { c.Deleting = true }), "being deleted"},
		// A new template that crashes beside the ready pods of the old one.
		"old replicas are left": {with(func(c *mesh.ControlPlane) { c.Total = 4 }), "in all 4"},
	} {
		t.Run(name, func(t *testing.T) {
			why := mesh.TargetNotRolledOut(test.planes, target)
			if (why == "") != (test.says == "") || !strings.Contains(why, test.says) {
				t.Errorf("got %q, want %q in it", why, test.says)
			}
		})
	}
}

func TestCheckAlias(t *testing.T) {
	for name, says := range map[string]string{
		"api.example.com": "", "API.example.com": "", "api.example.com.": "", "bastion": "",
		"kubernetes": "every cluster", "kubernetes.": "every cluster", "Kubernetes.Default.svc": "every cluster", "localhost": "every cluster",
		"127.0.0.1": "is an address", "10.0.0.1": "is an address", "::1": "is an address", "fd00::1": "is an address",
		"": "is no host name", "https://api.example.com": "is no host name", "api.example.com:443": "is no host name", "*.example.com": "is no host name",
	} {
		err := mesh.CheckAlias(name)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, want %q", name, err, says)
		}
	}
}
