package mesh

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Revision names one installed Istio control plane, such as "asm-1-29". The
// zero value names none.
type Revision string

// addOn is the form of the revisions of AKS's managed Istio add-on (the pattern
// of Azure/ARO-Tools, tools/istio-upgrade).
var addOn = regexp.MustCompile(`^asm-[0-9]+-[0-9]+$`)

// ParseRevision returns the revision of that name. Istio wants a DNS-1123 label
// (istio/istio, operator/pkg/apis/validation); any other name is an error.
func ParseRevision(name string) (Revision, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return "", fmt.Errorf("%q is no revision: %s", name, strings.Join(problems, "; "))
	}
	return Revision(name), nil
}

// OfAddOn reports whether r has the form asm-<major>-<minor>, which AKS gives
// to every revision of its managed Istio add-on.
func (r Revision) OfAddOn() bool { return addOn.MatchString(string(r)) }
