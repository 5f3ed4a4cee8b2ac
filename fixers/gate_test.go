package fixers_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixers"
	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// source is an owner of the control planes that says what it is told to.
type source struct {
	installation mesh.Installation
	err          error
	asked        int
}

var _ fixers.InstallationReader = (*source)(nil)

func (s *source) Installation(context.Context) (mesh.Installation, error) {
	s.asked++
	return s.installation, s.err
}

// cluster is one whose control planes are what it is told they are.
type cluster struct {
	server mesh.APIServer
	planes []mesh.ControlPlane
	err    error
	asked  int
}

var _ fixers.ControlPlaneReader = (*cluster)(nil)

func (c *cluster) APIServer() mesh.APIServer { return c.server }

func (c *cluster) ControlPlanes(context.Context) ([]mesh.ControlPlane, error) {
	c.asked++
	return c.planes, c.err
}

// stable returns what an open gate stands before.
func stable() (*source, *cluster) {
	return &source{installation: mesh.Installation{
			Source: "ARM serviceMeshProfile of c1", ProvisioningState: "Succeeded", PowerState: "Running", MeshMode: "Istio",
			Revisions: []string{"asm-1-29"}, APIServerNames: []string{"c1.hcp.example.com"},
		}}, &cluster{
			server: mesh.APIServer{Name: "c1.hcp.example.com"},
			planes: []mesh.ControlPlane{{Name: "istiod-asm-1-29", Revision: "asm-1-29", Generation: 1, Observed: 1, Desired: 2, Updated: 2, Ready: 2, Available: 2, Total: 2}},
		}
}

const (
	another     = "the kubeconfig leads to the API server c2.hcp.example.com, which is none of those that ARM names: c1.hcp.example.com"
	notProven   = "the kubeconfig does not make the API server c1.hcp.example.com prove its name: insecure-skip-tls-verify is set"
	updating    = "not met: provisioning has succeeded (provisioning state is Updating)"
	stopped     = "not met: provisioning has succeeded (provisioning state is Succeeded, but power state is Stopped)"
	upgrading   = "not met: no mesh upgrade is in progress (ARM answered 409)"
	twoOfThem   = "not met: exactly one revision is installed (ARM lists asm-1-28, asm-1-29)"
	offTarget   = "not met: the target revision is installed (asm-1-29 is not installed: ARM lists asm-1-28)"
	noPlane     = "the control plane of the target is not stable: no Deployment istiod-asm-1-29"
	notReady    = "the control plane of the target is not stable: Deployment istiod-asm-1-29: desired 2, updated 2, ready 1, available 2, in all 2"
	oldPods     = "the control plane of the target is not stable: Deployment istiod-asm-1-29: desired 2, updated 2, ready 2, available 2, in all 3"
	notObserved = "the control plane of the target is not stable: Deployment istiod-asm-1-29: generation 2 is not observed yet (observed: 1)"
)

func TestGateIsShutForEachReason(t *testing.T) {
	for name, row := range map[string]struct {
		change  func(*source, *cluster)
		reasons []string
	}{
		"none":                          {func(*source, *cluster) {}, nil},
		"another cluster":               {func(_ *source, c *cluster) { c.server.Name = "c2.hcp.example.com" }, []string{another}},
		"a cluster that is not proven":  {func(_ *source, c *cluster) { c.server.Unproven = "insecure-skip-tls-verify is set" }, []string{notProven}},
		"an operation that runs":        {func(s *source, _ *cluster) { s.installation.ProvisioningState = "Updating" }, []string{updating}},
		"a cluster that is stopped":     {func(s *source, _ *cluster) { s.installation.PowerState = "Stopped" }, []string{stopped}},
		"a mesh upgrade":                {func(s *source, _ *cluster) { s.installation.UpgradeInProgress = "ARM answered 409" }, []string{upgrading}},
		"two revisions":                 {func(s *source, _ *cluster) { s.installation.Revisions = []string{"asm-1-28", "asm-1-29"} }, []string{twoOfThem}},
		"another revision":              {func(s *source, _ *cluster) { s.installation.Revisions = []string{"asm-1-28"} }, []string{offTarget}},
		"no control plane":              {func(_ *source, c *cluster) { c.planes = nil }, []string{noPlane}},
		"a control plane of another":    {func(_ *source, c *cluster) { c.planes[0].Revision = "asm-1-28" }, []string{noPlane}},
		"a replica that is not ready":   {func(_ *source, c *cluster) { c.planes[0].Ready = 1 }, []string{notReady}},
		"a pod of an older template":    {func(_ *source, c *cluster) { c.planes[0].Total = 3 }, []string{oldPods}},
		"a change that is not observed": {func(_ *source, c *cluster) { c.planes[0].Generation = 2 }, []string{notObserved}},
		"everything at once": {func(s *source, c *cluster) {
			c.server.Name, c.planes = "c2.hcp.example.com", nil
			s.installation.ProvisioningState, s.installation.UpgradeInProgress = "Updating", "ARM answered 409"
			s.installation.Revisions = []string{"asm-1-28"}
		}, []string{another, updating, upgrading, offTarget, noPlane}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s, c := stable()
			row.change(s, c)
			installation, reasons, err := fixers.Gate{Source: s, Cluster: c, Target: "asm-1-29"}.Check(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(reasons).To(Equal(row.reasons))
			g.Expect(installation).To(Equal(s.installation), "what was read comes along")
		})
	}
}

func TestGateTakesTheUsersWordForAName(t *testing.T) {
	g := NewWithT(t)
	s, c := stable()
	c.server.Name = "10.0.0.4"
	_, reasons, err := fixers.Gate{Source: s, Cluster: c, Target: "asm-1-29", APIServerAliases: []string{"10.0.0.4"}}.Check(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reasons).To(BeEmpty())
}

func TestGateIsNeverOpenWhenSomethingCannotBeRead(t *testing.T) {
	cannot := errors.New("no answer")
	t.Run("the installation", func(t *testing.T) {
		g := NewWithT(t)
		s, c := stable()
		s.err = cannot
		_, _, err := fixers.Gate{Source: s, Cluster: c, Target: "asm-1-29"}.Check(t.Context())
		g.Expect(err).To(BeIdenticalTo(cannot))
	})
	t.Run("the control planes", func(t *testing.T) {
		g := NewWithT(t)
		s, c := stable()
		c.server.Name, c.err = "c2.hcp.example.com", cannot
		_, reasons, err := fixers.Gate{Source: s, Cluster: c, Target: "asm-1-29"}.Check(t.Context())
		g.Expect(err).To(BeIdenticalTo(cannot))
		g.Expect(reasons).To(ConsistOf(another), "what is known already comes along")
	})
}

func TestGateReadsAfreshEachTime(t *testing.T) {
	g := NewWithT(t)
	s, c := stable()
	gate := fixers.Gate{Source: s, Cluster: c, Target: "asm-1-29"}
	_, reasons, err := gate.Check(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reasons).To(BeEmpty())

	s.installation.ProvisioningState, c.planes[0].Ready = "Updating", 1

	_, reasons, err = gate.Check(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reasons).To(Equal([]string{updating, notReady}))
	g.Expect([]int{s.asked, c.asked}).To(Equal([]int{2, 2}))
}
