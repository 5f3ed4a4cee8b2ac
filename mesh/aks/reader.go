// Package aks reads the installation of AKS's managed Istio add-on from Azure
// Resource Manager.
//
// It only reads: the two GET requests of ReadActions are all that it sends.
package aks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v6"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// ReadActions are the Azure actions that a role needs for Installation.
func ReadActions() []string {
	return []string{managedClusters + "/read", managedClusters + "/meshUpgradeProfiles/read"}
}

// upgradeInProgress is the code with which ARM refuses to list the upgrade
// profiles during a mesh upgrade (Azure/ARO-Tools, tools/istio-upgrade/aks.go).
const upgradeInProgress = "ServiceMeshUpgradeInProgress"

// Reader reads one cluster's installation. Its methods may be called
// concurrently.
type Reader struct {
	id     ClusterID
	client *armcontainerservice.ManagedClustersClient
}

// NewReader returns a reader of the cluster id in an Azure cloud, with the
// credential that azidentity's default chain finds. When endpoint is not nil, a
// faked ARM at that address is asked instead, with a fake credential. It
// connects to nothing yet.
func NewReader(id ClusterID, configuration cloud.Configuration, endpoint *url.URL) (*Reader, error) {
	credential, options, err := connect(configuration, endpoint)
	if err != nil {
		return nil, err
	}
	client, err := armcontainerservice.NewManagedClustersClient(id.Subscription, credential, options)
	if err != nil {
		return nil, fmt.Errorf("make a client for ARM: %w", err)
	}
	return &Reader{id: id, client: client}, nil
}

// Installation reads what ARM says of the cluster's mesh. A mesh profile that
// is missing or empty is a fact and no error; an answer that cannot be read to
// its end, or is no cluster, is an error.
func (r *Reader) Installation(ctx context.Context) (mesh.Installation, error) {
	answer, err := r.client.Get(ctx, r.id.ResourceGroup, r.id.Name, nil)
	if err != nil {
		return mesh.Installation{}, fmt.Errorf("get managed cluster %s from ARM: %w", r.id.Name, brief(err))
	}
	if answer.Properties == nil {
		return mesh.Installation{}, fmt.Errorf("get managed cluster %s from ARM: the answer has no properties", r.id.Name)
	}
	if id := value(answer.ID); id != "" && !strings.EqualFold(id, r.id.String()) {
		return mesh.Installation{}, fmt.Errorf("get managed cluster %s from ARM: the answer is of another: %s", r.id.Name, mesh.Printable(id))
	}
	installation := r.facts(*answer.Properties)
	if installation.MeshMode != string(armcontainerservice.ServiceMeshModeIstio) {
		return installation, nil // no mesh, so nothing of it to upgrade
	}
	installation.UpgradeInProgress, err = r.upgrade(ctx)
	if err != nil {
		return mesh.Installation{}, fmt.Errorf("list mesh upgrade profiles of %s from ARM: %w", r.id.Name, brief(err))
	}
	return installation, nil
}

func (r *Reader) facts(p armcontainerservice.ManagedClusterProperties) mesh.Installation {
	i := mesh.Installation{
		Source:            "ARM serviceMeshProfile of " + r.id.Name,
		ProvisioningState: value(p.ProvisioningState),
	}
	if p.PowerState != nil {
		i.PowerState = string(value(p.PowerState.Code))
	}
	for _, name := range []*string{p.Fqdn, p.PrivateFQDN, p.AzurePortalFQDN} {
		if value(name) != "" {
			i.APIServerNames = append(i.APIServerNames, *name)
		}
	}
	if p.ServiceMeshProfile == nil {
		return i
	}
	i.MeshMode = string(value(p.ServiceMeshProfile.Mode))
	if p.ServiceMeshProfile.Istio != nil {
		for _, revision := range p.ServiceMeshProfile.Istio.Revisions {
			i.Revisions = append(i.Revisions, value(revision))
		}
	}
	return i
}

// upgrade returns the evidence that a mesh upgrade is in progress: ARM's
// refusal to list the upgrade profiles, in its own words.
func (r *Reader) upgrade(ctx context.Context) (string, error) {
	pages := r.client.NewListMeshUpgradeProfilesPager(r.id.ResourceGroup, r.id.Name, nil)
	for n := 0; pages.More(); n++ {
		if n == maxPages {
			return "", fmt.Errorf("the list has more than %d pages", maxPages)
		}
		page, err := pages.NextPage(ctx)
		var refusal *azcore.ResponseError
		if errors.As(err, &refusal) && refusal.StatusCode == http.StatusConflict && refusal.ErrorCode == upgradeInProgress {
			return brief(err).Error(), nil
		}
		if err != nil {
			return "", err
		}
		if page.Value == nil {
			return "", errors.New("the answer has no list") // the SDK reads an empty body, too
		}
	}
	return "", nil
}

// maxPages is more than the upgrade profiles of one cluster can fill.
const maxPages = 20

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
