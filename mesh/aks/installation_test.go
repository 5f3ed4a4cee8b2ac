package aks_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/mesh"
)

const upgrading = "ARM answered 409 ServiceMeshUpgradeInProgress: A service mesh upgrade of managed cluster 'svc-westus3' is in progress."

// facts are those of the settled cluster, changed.
func facts(modifiers ...func(*mesh.Installation)) mesh.Installation {
	i := mesh.Installation{
		Source: "ARM serviceMeshProfile of svc-westus3", ProvisioningState: "Succeeded", PowerState: "Running", MeshMode: "Istio",
		Revisions: []string{"asm-1-29"}, APIServerNames: []string{"svc.hcp.westus3.azmk8s.io"},
	}
	for _, modify := range modifiers {
		modify(&i)
	}
	return i
}

func TestInstallationIsWhatARMSays(t *testing.T) {
	for name, row := range map[string]struct {
		cluster func(*fakearm.Cluster)
		move    func(*fakearm.Server) error
		want    func(*mesh.Installation)
	}{
		"settled": {},
		"in a canary": {
			cluster: func(c *fakearm.Cluster) { c.Mesh.Revisions = []string{"asm-1-28", "asm-1-29"} },
			want: func(i *mesh.Installation) {
				i.Revisions, i.UpgradeInProgress = []string{"asm-1-28", "asm-1-29"}, upgrading
			},
		},
		"at the start of an upgrade": {
			move: func(arm *fakearm.Server) error { return arm.StartUpgrade(clusterID, "asm-1-30") },
			want: func(i *mesh.Installation) {
				i.ProvisioningState, i.Revisions, i.UpgradeInProgress = "Updating", []string{"asm-1-29", "asm-1-30"}, upgrading
			},
		},
		"with an upgrade that shows nowhere else": {
			move: func(arm *fakearm.Server) error { return arm.SetUpgradeInProgress(clusterID, true) },
			want: func(i *mesh.Installation) { i.UpgradeInProgress = upgrading },
		},
		"known by three names": {
			cluster: func(c *fakearm.Cluster) {
				c.PrivateFQDN, c.AzurePortalFQDN = "private.example.com", "portal.example.com"
			},
			want: func(i *mesh.Installation) {
				i.APIServerNames = []string{"svc.hcp.westus3.azmk8s.io", "private.example.com", "portal.example.com"}
			},
		},
		"known by its private name": {
			cluster: func(c *fakearm.Cluster) { c.FQDN, c.PrivateFQDN = "", "private.example.com" },
			want:    func(i *mesh.Installation) { i.APIServerNames = []string{"private.example.com"} },
		},
		"known by no name": {
			cluster: func(c *fakearm.Cluster) { c.FQDN = "" },
			want:    func(i *mesh.Installation) { i.APIServerNames = nil },
		},
		"stopped": {
			cluster: func(c *fakearm.Cluster) { c.PowerState = "Stopped" },
			want:    func(i *mesh.Installation) { i.PowerState = "Stopped" },
		},
		"without a mesh": {
			cluster: func(c *fakearm.Cluster) { c.Mesh = nil },
			want:    func(i *mesh.Installation) { i.MeshMode, i.Revisions = "", nil },
		},
		"disabled": {
			cluster: func(c *fakearm.Cluster) { c.Mesh.Mode = "Disabled" },
			want:    func(i *mesh.Installation) { i.MeshMode, i.Revisions = "Disabled", nil },
		},
		"of an unknown mode": {
			cluster: func(c *fakearm.Cluster) { c.Mesh.Mode = "istio" },
			want:    func(i *mesh.Installation) { i.MeshMode = "istio" },
		},
		"without the list of revisions": {
			cluster: func(c *fakearm.Cluster) { c.Mesh.Revisions = nil },
			want:    func(i *mesh.Installation) { i.Revisions = nil },
		},
		"without a revision": {
			cluster: func(c *fakearm.Cluster) { c.Mesh.Revisions = []string{} },
			want:    func(i *mesh.Installation) { i.Revisions = nil },
		},
		"with malformed and double revisions": {
			move: func(arm *fakearm.Server) error {
				return arm.SetRevisions(clusterID, []string{"asm-1-29", "ASM 1.29", "", "asm-1-29"})
			},
			want: func(i *mesh.Installation) { i.Revisions = []string{"asm-1-29", "ASM 1.29", "", "asm-1-29"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if row.cluster == nil {
				row.cluster = func(*fakearm.Cluster) {}
			}
			arm := startARM(t, settled(row.cluster))
			if row.move != nil {
				g.Expect(row.move(arm)).To(Succeed())
			}
			want := facts()
			if row.want != nil {
				row.want(&want)
			}

			got, err := readerOf(t, arm.URL()).Installation(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
			asked := []string{clusterPath}
			if want.MeshMode == "Istio" {
				asked = append(asked, profilesPath)
			}
			g.Expect(paths(arm)).To(Equal(asked), "a cluster without a mesh has no upgrade to ask for")
		})
	}
}

func TestProvisioningStateIsPassedOn(t *testing.T) {
	for _, state := range []string{"Creating", "Updating", "Upgrading", "Starting", "Stopping", "Deleting", "Failed", "Canceling", "Canceled", "Dreaming", ""} {
		t.Run(state, func(t *testing.T) {
			g := NewWithT(t)
			arm := startARM(t, settled())
			g.Expect(arm.SetProvisioningState(clusterID, state)).To(Succeed())
			got, err := readerOf(t, arm.URL()).Installation(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(facts(func(i *mesh.Installation) { i.ProvisioningState = state })))
		})
	}
}

func TestMeshProfileMayBeNullAtEveryLevel(t *testing.T) {
	for profile, row := range map[string]struct {
		mode      string
		revisions []string
	}{
		`null`:          {},
		`{}`:            {},
		`{"mode":null}`: {},
		`{"mode":""}`:   {},
		`{"mode":null,"istio":{"revisions":["asm-1-29"]}}`:         {"", []string{"asm-1-29"}},
		`{"mode":"Disabled","istio":{"revisions":["asm-1-29"]}}`:   {"Disabled", []string{"asm-1-29"}},
		`{"mode":"Disabled","istio":null}`:                         {"Disabled", nil},
		`{"mode":"Istio"}`:                                         {"Istio", nil},
		`{"mode":"Istio","istio":null}`:                            {"Istio", nil},
		`{"mode":"Istio","istio":{}}`:                              {"Istio", nil},
		`{"mode":"Istio","istio":{"revisions":null}}`:              {"Istio", nil},
		`{"mode":"Istio","istio":{"revisions":[]}}`:                {"Istio", nil},
		`{"mode":"Istio","istio":{"revisions":[null]}}`:            {"Istio", []string{""}},
		`{"mode":"Istio","istio":{"revisions":["asm-1-29",null]}}`: {"Istio", []string{"asm-1-29", ""}},
		`{"mode":"Istio","istio":{"components":null,"certificateAuthority":null,"revisions":["asm-1-29"]},"more":1}`: {"Istio", []string{"asm-1-29"}},
	} {
		t.Run(profile, func(t *testing.T) {
			g := NewWithT(t)
			arm := startARM(t, settled())
			g.Expect(arm.OverrideMeshProfile(clusterID, profile)).To(Succeed())
			got, err := readerOf(t, arm.URL()).Installation(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(facts(func(i *mesh.Installation) { i.MeshMode, i.Revisions = row.mode, row.revisions })))
		})
	}
}

func TestPropertiesMayBeNull(t *testing.T) {
	for name, body := range map[string]string{
		"empty": `{"properties":{}}`,
		"null":  `{"properties":{"provisioningState":null,"powerState":null,"fqdn":null,"privateFQDN":null,"azurePortalFQDN":null,"serviceMeshProfile":null}}`,
		"inner": `{"properties":{"powerState":{"code":null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := readerOf(t, startAnswering(t, map[string]string{clusterPath: body}).URL).Installation(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(mesh.Installation{Source: "ARM serviceMeshProfile of svc-westus3"}))
		})
	}
}
