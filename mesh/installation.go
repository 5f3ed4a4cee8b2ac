package mesh

import (
	"fmt"
	"slices"
	"strings"
)

// Installation is what the owner of the control planes says is installed: on
// AKS, Azure Resource Manager.
type Installation struct {
	// Source says where this was read, as failure messages quote it:
	// "ARM serviceMeshProfile of svc-westus3".
	Source string `json:"source"`
	// ProvisioningState is ARM's word for the last operation on the cluster.
	// It is an open set; only "Succeeded" means that the operation is over
	// and went well.
	ProvisioningState string `json:"provisioningState"`
	// PowerState is "Running" or "Stopped", or empty when ARM does not tell.
	// A stopped cluster also says Succeeded.
	PowerState string `json:"powerState,omitempty"`
	// MeshMode is "Istio", "Disabled", or empty when there is no mesh profile.
	MeshMode string `json:"meshMode"`
	// Revisions are the installed ones just as they were answered: possibly
	// none, several, malformed or twice the same.
	Revisions []string `json:"revisions"`
	// UpgradeInProgress is the evidence that a mesh upgrade is under way, or
	// empty when there is none.
	UpgradeInProgress string `json:"upgradeInProgress,omitempty"`
	// APIServerNames are the host names by which the cluster's API server is
	// known to its owner: on AKS the public, private and portal FQDN.
	APIServerNames []string `json:"apiServerNames"`
}

// Installed reports whether r is among the installed revisions.
func (i Installation) Installed(r Revision) bool {
	return slices.Contains(i.Revisions, string(r))
}

// Condition is one of the four that make a mesh settled. Its text completes
// the sentence "a mesh is settled when …".
type Condition string

// The conditions of a settled mesh.
const (
	Provisioned  Condition = "provisioning has succeeded"
	NotUpgrading Condition = "no mesh upgrade is in progress"
	OneRevision  Condition = "exactly one revision is installed"
	OnTarget     Condition = "the target revision is installed"
)

// Conditions returns all four, in the order in which a reader would check them.
func Conditions() []Condition {
	return []Condition{Provisioned, NotUpgrading, OneRevision, OnTarget}
}

// Unmet returns why the installation does not meet c after an upgrade to
// target, or the empty string when it does.
func (i Installation) Unmet(c Condition, target Revision) string {
	switch c {
	case Provisioned:
		return i.notProvisioned()
	case NotUpgrading:
		return i.UpgradeInProgress
	case OneRevision:
		return i.notOneRevision()
	case OnTarget:
		if !i.Installed(target) {
			return fmt.Sprintf("%s is not installed: ARM lists %s", target, i.listed())
		}
		return ""
	}
	return fmt.Sprintf("unknown condition %q", string(c))
}

// Unsettled returns one sentence for each condition that is not met after an
// upgrade to target: none when the mesh is settled.
func (i Installation) Unsettled(target Revision) []string {
	var unmet []string
	for _, c := range Conditions() {
		if why := i.Unmet(c, target); why != "" {
			unmet = append(unmet, fmt.Sprintf("not met: %s (%s)", c, why))
		}
	}
	return unmet
}

func (i Installation) notProvisioned() string {
	switch i.ProvisioningState {
	case "Succeeded":
		if i.PowerState == "" || i.PowerState == "Running" {
			return ""
		}
		return fmt.Sprintf("provisioning state is Succeeded, but power state is %s", Printable(i.PowerState))
	case "":
		return "ARM names no provisioning state"
	case "Failed", "Canceled":
		return fmt.Sprintf("provisioning state is %s: the last operation on the cluster ended without success", i.ProvisioningState)
	}
	return "provisioning state is " + Printable(i.ProvisioningState)
}

func (i Installation) notOneRevision() string {
	for _, name := range i.Revisions {
		if _, err := ParseRevision(name); err != nil {
			return fmt.Sprintf("ARM lists %s, and %s", i.listed(), Printable(err.Error()))
		}
	}
	if i.MeshMode != "Istio" || len(i.Revisions) != 1 {
		return "ARM lists " + i.listed()
	}
	return ""
}

// listed names the installed revisions, or says why there is none.
func (i Installation) listed() string {
	switch {
	case i.MeshMode == "":
		return "no service mesh profile"
	case i.MeshMode != "Istio":
		return fmt.Sprintf("a service mesh profile of mode %s", Printable(i.MeshMode))
	case len(i.Revisions) == 0:
		return "no revision"
	}
	return Printable(strings.Join(i.Revisions, ", "))
}
