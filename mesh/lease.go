package mesh

import (
	"strings"
	"time"
)

// Election is a leader election that istiod holds once per revision, in a
// coordination.k8s.io/v1 Lease named "<election>-<revision>" in the mesh's
// namespace.
type Election string

// The elections whose Leases carry the revision's name. Which of them exist
// depends on the Istio version (istio/istio, pilot/pkg/leaderelection): none up
// to 1.17, the first from 1.18, both from 1.27. Their absence proves nothing.
const (
	GatewayDeployment   Election = "istio-gateway-deployment"
	GatewayStatusLeader Election = "istio-gateway-status-leader"
)

// Elections returns every election whose Leases a retired revision leaves
// behind. No other Lease is ever judged, still less deleted.
func Elections() []Election {
	return []Election{GatewayDeployment, GatewayStatusLeader}
}

// ParseElectionLease splits the name of an election lease into its election
// and its revision. ok is false for any other name. The whole name counts:
// a revision that ends like another one is a different revision.
func ParseElectionLease(name string) (e Election, r Revision, ok bool) {
	for _, e := range Elections() {
		rest, found := strings.CutPrefix(name, string(e)+"-")
		if !found {
			continue
		}
		if r, err := ParseRevision(rest); err == nil {
			return e, r, true
		}
	}
	return "", "", false
}

// LeaseName returns the name of the Lease in which istiod of revision r holds
// election e.
func LeaseName(e Election, r Revision) string { return string(e) + "-" + string(r) }

// Lease is one election lease as the API server stores it.
type Lease struct {
	Namespace       string   `json:"namespace"`
	Name            string   `json:"name"`
	Election        Election `json:"election"`
	Revision        Revision `json:"revision"`
	UID             string   `json:"uid"`
	ResourceVersion string   `json:"resourceVersion"`

	// Holder is the name of the istiod pod that holds the lease; empty when
	// it was released; nil when the field is absent, which istiod never does.
	Holder *string `json:"holder"`
	// DurationSeconds is how long the holder's claim outlives its renewal.
	DurationSeconds *int32 `json:"durationSeconds"`
	// Renewed is the last renewal by the holder's clock.
	Renewed *time.Time `json:"renewed"`
	// Coordinated is true when the API server hands the lease out (its spec has
	// a strategy or a preferred holder).
	Coordinated bool `json:"coordinated,omitempty"`
	// Writers are all who wrote the object, with the time of their last write
	// by the API server's clock.
	Writers []Writer `json:"writers"`

	Owners      []string          `json:"owners,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Deleting is true when a deletion has been asked for and not finished.
	Deleting bool `json:"deleting,omitempty"`
}

// Writer is one entry of an object's managedFields. The API server stamps it
// with its own clock at every write that changes something, so on a Lease it is
// a record of the last renewal that no skewed node clock can falsify.
type Writer struct {
	Manager string     `json:"manager"`
	Time    *time.Time `json:"time"`
}
