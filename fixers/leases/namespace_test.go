package leases_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers/leases"
)

func TestAFixerReadsAndDeletesInOneNamespace(t *testing.T) {
	for name, row := range map[string]struct {
		namespace, path string
		deleted         []string
	}{
		"AKS's by default": {"", "/namespaces/aks-istio-system/", []string{"istio-gateway-deployment-asm-0-000"}},
		"another":          {"istio-system", "/namespaces/istio-system/", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := startCluster(t, orphans(1)...) // in aks-istio-system
			f, _ := c.fixer(func(o *leases.Options) { o.Namespace = row.namespace })

			_, err := f.Fix(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.deleted()).To(Equal(row.deleted))
			c.mu.Lock()
			defer c.mu.Unlock()
			g.Expect(c.lists).To(HaveEach(Or(ContainSubstring(row.path), HaveSuffix("/mutatingwebhookconfigurations"))))
		})
	}
}
