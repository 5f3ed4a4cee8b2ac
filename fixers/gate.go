package fixers

import (
	"context"
	"fmt"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// InstallationReader is the source of what is installed: on AKS, ARM.
type InstallationReader interface {
	Installation(ctx context.Context) (mesh.Installation, error)
}

// ControlPlaneReader reads the istiod Deployments of the cluster to be fixed.
type ControlPlaneReader interface {
	APIServer() mesh.APIServer
	ControlPlanes(ctx context.Context) ([]mesh.ControlPlane, error)
}

// Gate lets a fixer through only where an upgrade is over for certain, on a
// cluster that is for certain the one that the installation was read of.
type Gate struct {
	Source  InstallationReader
	Cluster ControlPlaneReader
	// Target is the revision that the pipeline upgraded to.
	Target mesh.Revision
	// APIServerAliases are names of the cluster's API server that its owner
	// does not list, and that the user vouches for.
	APIServerAliases []string
}

// Check reads the installation and the control planes afresh. reasons are those
// for which the gate stays shut: none when it is open. An error means that
// something could not be read, and the gate is shut then, too.
func (g Gate) Check(ctx context.Context) (i mesh.Installation, reasons []string, err error) {
	i, err = g.Source.Installation(ctx)
	if err != nil {
		return i, nil, err
	}
	if why := g.Cluster.APIServer().NotOf(i, g.APIServerAliases); why != "" {
		reasons = append(reasons, why)
	}
	reasons = append(reasons, i.Unsettled(g.Target)...)
	planes, err := g.Cluster.ControlPlanes(ctx)
	if err != nil {
		return i, reasons, err
	}
	if why := mesh.TargetNotRolledOut(planes, g.Target); why != "" {
		reasons = append(reasons, fmt.Sprintf("the control plane of the target is not stable: %s", why))
	}
	return i, reasons, nil
}
