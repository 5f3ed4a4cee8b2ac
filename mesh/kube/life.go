package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/mesh"
)

// Labels that istiod's charts put on their objects (istio/istio,
// manifests/charts).
const (
	revisionLabel = "istio.io/rev"
	tagLabel      = "istio.io/tag"
)

// Life lists every sign of life of a revision: Deployments, Services and pods
// in the mesh's namespace, and the cluster's mutating webhooks. When one kind
// cannot be read, what was read comes back with the error and is not Complete.
func (r *Reader) Life(ctx context.Context) (mesh.Life, error) {
	var (
		deployments []appsv1.Deployment
		services    []corev1.Service
		pods        []corev1.Pod
		webhooks    []admissionv1.MutatingWebhookConfiguration
		errs        [4]error
		group       errgroup.Group
	)
	group.Go(func() error { deployments, errs[0] = r.deployments(ctx); return nil })
	group.Go(func() error {
		services, errs[1] = listAll[corev1.Service](ctx, "services in "+r.namespace, page(r.client.CoreV1().Services(r.namespace).List))
		return nil
	})
	group.Go(func() error {
		pods, errs[2] = listAll[corev1.Pod](ctx, "pods in "+r.namespace, page(r.client.CoreV1().Pods(r.namespace).List))
		return nil
	})
	group.Go(func() error {
		webhooks, errs[3] = listAll[admissionv1.MutatingWebhookConfiguration](ctx, "mutatingwebhookconfigurations", page(r.client.AdmissionregistrationV1().MutatingWebhookConfigurations().List))
		return nil
	})
	_ = group.Wait() // the errors are kept apart, so that each is told

	life := mesh.Life{Pods: map[string]string{}}
	see := func(revisions []mesh.Revision, format string, args ...any) {
		for _, revision := range revisions {
			life.Signs = append(life.Signs, mesh.Sign{Revision: revision, What: fmt.Sprintf(format, args...)})
		}
	}
	for _, d := range deployments {
		see(revisionsOf(d.ObjectMeta), "Deployment %s", d.Name)
	}
	for _, s := range services {
		see(revisionsOf(s.ObjectMeta), "Service %s", s.Name)
	}
	for _, p := range pods {
		life.Pods[p.Name] = string(p.Status.Phase)
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			see(podRevisions(p), "pod %s (phase %s)", p.Name, p.Status.Phase)
		}
	}
	for _, w := range webhooks {
		kind := "injector webhook"
		if tag := w.Labels[tagLabel]; tag != "" {
			kind = "revision tag " + tag + ", webhook"
		}
		see(r.webhookRevisions(w), "%s %s", kind, w.Name)
	}
	err := errors.Join(errs[:]...)
	life.Complete = err == nil
	return life, err
}

func (r *Reader) deployments(ctx context.Context) ([]appsv1.Deployment, error) {
	return listAll[appsv1.Deployment](ctx, "deployments in "+r.namespace, page(r.client.AppsV1().Deployments(r.namespace).List))
}

// istiodRevision returns the revision of the istiod that an object of that
// name is; ok is false when it is not istiod's. The name decides, since
// charts label neither every version's objects nor only istiod's.
func istiodRevision(m metav1.ObjectMeta) (r mesh.Revision, ok bool) {
	if m.Name == "istiod" {
		return "default", true
	}
	rest, ok := strings.CutPrefix(m.Name, "istiod-")
	return mesh.Revision(rest), ok && rest != ""
}

// revisionsOf returns every revision that an object's name or label speaks for.
// Where the two differ, both live.
func revisionsOf(m metav1.ObjectMeta) []mesh.Revision {
	var revisions []mesh.Revision
	if r, ok := istiodRevision(m); ok {
		revisions = append(revisions, r)
	}
	return appendLabelled(revisions, m)
}

func appendLabelled(revisions []mesh.Revision, m metav1.ObjectMeta) []mesh.Revision {
	if r := m.Labels[revisionLabel]; r != "" {
		revisions = append(revisions, mesh.Revision(r))
	}
	return revisions
}

// podRevisions returns the revisions that an istiod pod's name or label speaks
// for. Its Deployment's name ends before the two generated parts.
func podRevisions(p corev1.Pod) []mesh.Revision {
	var revisions []mesh.Revision
	if rest, ok := strings.CutPrefix(p.Name, "istiod-"); ok {
		if parts := strings.Split(rest, "-"); len(parts) > 2 {
			revisions = append(revisions, mesh.Revision(strings.Join(parts[:len(parts)-2], "-")))
		}
	}
	return appendLabelled(revisions, p.ObjectMeta)
}

// webhookRevisions returns the revisions that a webhook injects for: by its
// label, by its name, and by the istiod Service in the mesh's namespace that it
// calls. Tools label a tag's webhook with the tag in place of the revision, so
// no one of these is enough.
func (r *Reader) webhookRevisions(w admissionv1.MutatingWebhookConfiguration) []mesh.Revision {
	revisions := appendLabelled(nil, w.ObjectMeta)
	if rest, ok := strings.CutPrefix(w.Name, "istio-sidecar-injector-"); ok {
		revisions = append(revisions, mesh.Revision(strings.TrimSuffix(rest, "-"+r.namespace)))
	}
	for _, hook := range w.Webhooks {
		if s := hook.ClientConfig.Service; s != nil && s.Namespace == r.namespace {
			if revision, ok := istiodRevision(metav1.ObjectMeta{Name: s.Name}); ok {
				revisions = append(revisions, revision)
			}
		}
	}
	return revisions
}

func controlPlane(d appsv1.Deployment, revision mesh.Revision) mesh.ControlPlane {
	plane := mesh.ControlPlane{
		Name: d.Name, Revision: revision, Generation: d.Generation,
		Observed: d.Status.ObservedGeneration, Desired: 1, Updated: d.Status.UpdatedReplicas, Ready: d.Status.ReadyReplicas,
		Available: d.Status.AvailableReplicas, Total: d.Status.Replicas, Deleting: d.DeletionTimestamp != nil,
	}
	if d.Spec.Replicas != nil {
		plane.Desired = *d.Spec.Replicas
	}
	return plane
}
