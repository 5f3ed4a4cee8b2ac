package aks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
)

const managedClusters = "Microsoft.ContainerService/managedClusters"

// ClusterID is the ARM resource ID of one AKS cluster, in its parts.
type ClusterID struct {
	Subscription, ResourceGroup, Name string
}

// String is the resource ID.
func (c ClusterID) String() string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/%s/%s", c.Subscription, c.ResourceGroup, managedClusters, c.Name)
}

// ParseClusterID returns the parts of a managed cluster's resource ID. ARM
// compares the words of an ID without regard to case, and so does this.
func ParseClusterID(id string) (ClusterID, error) {
	const form = "/subscriptions/<id>/resourceGroups/<group>/providers/" + managedClusters + "/<name>"
	if id == "" {
		return ClusterID{}, errors.New("is empty; its form is " + form)
	}
	parsed, err := arm.ParseResourceID(id)
	if err != nil || !strings.EqualFold(parsed.ResourceType.String(), managedClusters) ||
		parsed.Parent.ResourceType.String() != arm.ResourceGroupResourceType.String() || parsed.Name == "" {
		return ClusterID{}, fmt.Errorf("%q is not the ID of a managed cluster; its form is %s", id, form)
	}
	return ClusterID{Subscription: parsed.SubscriptionID, ResourceGroup: parsed.ResourceGroupName, Name: parsed.Name}, nil
}
