package mesh

import "fmt"

// ControlPlane is an istiod Deployment.
type ControlPlane struct {
	Name     string   `json:"name"`
	Revision Revision `json:"revision"`
	// Generation is that of the wanted state, and Observed the one that the
	// Deployment controller has acted on.
	Generation int64 `json:"generation"`
	Observed   int64 `json:"observed"`
	Desired    int32 `json:"desired"`
	Updated    int32 `json:"updated"`
	Ready      int32 `json:"ready"`
	Available  int32 `json:"available"`
	// Total counts the replicas of older templates, too.
	Total int32 `json:"total"`
	// Deleting is true when a deletion has been asked for.
	Deleting bool `json:"deleting,omitempty"`
}

// NotRolledOut returns why the Deployment is not rolled out, or the empty
// string when it is, as `kubectl rollout status` judges: its generation is
// observed, and as many replicas are updated, ready and available as are
// desired, of which there is at least one, with none of an older template left.
func (c ControlPlane) NotRolledOut() string {
	switch {
	case c.Observed < c.Generation:
		return fmt.Sprintf("generation %d is not observed yet (observed: %d)", c.Generation, c.Observed)
	case c.Deleting:
		return "it is being deleted"
	case c.Desired < 1:
		return "no replica is desired"
	case c.Updated != c.Desired || c.Ready != c.Desired || c.Available != c.Desired || c.Total != c.Desired:
		return fmt.Sprintf("desired %d, updated %d, ready %d, available %d, in all %d", c.Desired, c.Updated, c.Ready, c.Available, c.Total)
	}
	return ""
}

// GomegaString is the control plane in one line of a failure message.
func (c ControlPlane) GomegaString() string {
	state := "rolled out"
	if why := c.NotRolledOut(); why != "" {
		state = "not rolled out: " + why
	}
	return fmt.Sprintf("%s  revision %s, %s", c.Name, c.Revision, state)
}

// TargetNotRolledOut returns why the target's istiod is not rolled out, or the
// empty string when it is.
func TargetNotRolledOut(planes []ControlPlane, target Revision) string {
	for _, c := range planes {
		if c.Revision == target {
			if why := c.NotRolledOut(); why != "" {
				return fmt.Sprintf("Deployment %s: %s", c.Name, why)
			}
			return ""
		}
	}
	return fmt.Sprintf("no Deployment istiod-%s", target)
}
