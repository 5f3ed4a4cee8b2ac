package kube

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Permission is one verb on one resource that an identity needs.
type Permission struct {
	Verb, Group, Resource string
	// Namespace is empty for a cluster-wide resource.
	Namespace string
}

// String is the permission as a rule of a Role or ClusterRole, in the form in
// which it would be added.
func (p Permission) String() string {
	role := "ClusterRole"
	if p.Namespace != "" {
		role = "Role in " + p.Namespace
	}
	return fmt.Sprintf(`%s: {apiGroups: [%q], resources: [%q], verbs: [%q]}`, role, p.Group, p.Resource, p.Verb)
}

// ReadPermissions are those that the reader's methods need.
func (r *Reader) ReadPermissions() []Permission {
	return []Permission{
		{Verb: "list", Group: "apps", Resource: "deployments", Namespace: r.namespace},
		{Verb: "list", Group: "coordination.k8s.io", Resource: "leases", Namespace: r.namespace},
		{Verb: "list", Group: "", Resource: "pods", Namespace: r.namespace},
		{Verb: "list", Group: "", Resource: "services", Namespace: r.namespace},
		{Verb: "list", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
	}
}

// DeletePermissions are those that deleting leases needs beside reading.
func (r *Reader) DeletePermissions() []Permission {
	return []Permission{{Verb: "delete", Group: "coordination.k8s.io", Resource: "leases", Namespace: r.namespace}}
}

// Missing asks the API server for each permission, and returns those that the
// reader's identity does not have.
func (r *Reader) Missing(ctx context.Context, needed []Permission) ([]Permission, error) {
	var missing []Permission
	for _, p := range needed {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: p.Verb, Group: p.Group, Resource: p.Resource, Namespace: p.Namespace},
		}}
		err := Retry(ctx, func(ctx context.Context) error {
			answer, err := Request(ctx, func(ctx context.Context) (*authorizationv1.SelfSubjectAccessReview, error) {
				return r.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			})
			if err == nil && !answer.Status.Allowed {
				missing = append(missing, p)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ask whether this identity may %s %s: %w", p.Verb, p.Resource, err)
		}
	}
	return missing, nil
}
