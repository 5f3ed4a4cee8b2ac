package mesh

import "slices"

// Sign is something in the cluster by which a revision lives: its istiod
// Deployment or Service, an istiod pod that has not ended, its injector
// webhook, or a revision tag that resolves to it.
type Sign struct {
	Revision Revision `json:"revision"`
	// What names the object for a reader: "Deployment istiod-asm-1-28".
	What string `json:"what"`
}

// Life is what the cluster shows of the revisions that live in it. The zero
// value means that nothing was read, not that nothing lives.
type Life struct {
	// Complete is true only when every kind of sign was listed to its end.
	Complete bool   `json:"complete"`
	Signs    []Sign `json:"signs"`
	// Pods maps the name of each pod in the mesh's namespace to its phase.
	Pods map[string]string `json:"pods"`
}

// Of returns the signs of life of r, by name.
func (l Life) Of(r Revision) []string {
	var whats []string
	for _, s := range l.Signs {
		if s.Revision == r {
			whats = append(whats, s.What)
		}
	}
	slices.Sort(whats)
	return slices.Compact(whats)
}
