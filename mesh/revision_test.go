package mesh_test

import (
	"testing"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

func TestParseRevision(t *testing.T) {
	for _, test := range []struct {
		name         string
		valid, addOn bool
	}{
		{"asm-1-29", true, true},
		{"asm-1-028", true, true},
		{"1-27-3", true, false},
		{"default", true, false},
		{"canary", true, false},
		{"asm-1-29-1", true, false},
		{"xasm-1-29", true, false},
		{"", false, false},
		{"asm-1.29", false, false},
		{"ASM-1-29", false, false},
		{"asm-1-29-", false, false},
		{"asm 1 29", false, false},
		{"asm-1-29\n", false, false},
	} {
		r, err := mesh.ParseRevision(test.name)
		if (err == nil) != test.valid || r.OfAddOn() != test.addOn {
			t.Errorf("ParseRevision(%q) = %q, %v, of the add-on: %v; want valid %v, of the add-on %v", test.name, r, err, r.OfAddOn(), test.valid, test.addOn)
		}
	}
}

func TestParseElectionLease(t *testing.T) {
	for _, test := range []struct {
		name     string
		election mesh.Election
		revision mesh.Revision
	}{
		{"istio-gateway-deployment-asm-1-28", mesh.GatewayDeployment, "asm-1-28"},
		{"istio-gateway-status-leader-asm-1-28", mesh.GatewayStatusLeader, "asm-1-28"},
		{"istio-gateway-deployment-default", mesh.GatewayDeployment, "default"},
		// The whole rest is the revision: a suffix of it is another one.
		{"istio-gateway-deployment-x-asm-1-28", mesh.GatewayDeployment, "x-asm-1-28"},
		{"istio-gateway-status-leader", "", ""},
		{"istio-gateway-deployment-", "", ""},
		{"istio-gateway-deployment", "", ""},
		{"istio-status-leader", "", ""},
		{"istio-leader", "", ""},
		{"istio-gateway-inferencepool-asm-1-28", "", ""},
		{"my-istio-gateway-deployment-asm-1-28", "", ""},
		{"istio-gateway-deployment-asm-1.28", "", ""},
	} {
		e, r, ok := mesh.ParseElectionLease(test.name)
		if e != test.election || r != test.revision || ok != (test.election != "") {
			t.Errorf("ParseElectionLease(%q) = %q, %q, %v", test.name, e, r, ok)
		}
		if ok && mesh.LeaseName(e, r) != test.name {
			t.Errorf("LeaseName(%q, %q) is not %q again", e, r, test.name)
		}
	}
}
