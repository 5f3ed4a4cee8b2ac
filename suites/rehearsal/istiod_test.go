package rehearsal

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mesh-postflight/mesh-postflight/fixtures/istio"
)

// realIstiod is a control plane of Istio in the cluster: pods where pods run,
// and else a process that believes to be one.
type realIstiod struct {
	revision  istio.Revision
	installed *istio.Installed
	process   *istio.Istiod // nil where pods run
}

// podName is what istiod believes to be where no pod runs.
func (r *realIstiod) podName() string { return "istiod-" + r.revision.Name + "-7d9f5c6b8-x2x4z" }

// runsPods reports whether the cluster runs what is created in it.
func runsPods() bool { return *clusterKind != "embedded" }

// startIstiod installs a revision, and returns when its istiod holds its leases.
// After the spec nothing of it is left.
func startIstiod(ctx context.Context, name, namespace string) *realIstiod {
	GinkgoHelper()
	r := &realIstiod{revision: istio.Revision{Name: name, Namespace: namespace}}
	image := istio.Image{Hub: "localhost/none", Tag: "none"}
	if runsPods() {
		image = loadImage(ctx)
	}
	var err error
	r.installed, err = programs.Install(ctx, cluster.RESTConfig, r.revision, image)
	Expect(err).NotTo(HaveOccurred(), "install %s", name)
	DeferCleanup(func(ctx SpecContext) {
		r.end(ctx, false)
		deleteLeases(ctx, name, namespace)
	}, NodeTimeout(timeouts.Cluster))
	if runsPods() {
		Expect(r.installed.WaitUntilReady(ctx)).To(Succeed(), "roll out %s", name)
		Expect(istio.WaitForLeases(ctx, cluster.RESTConfig, r.revision)).To(Succeed(), "leases of %s", name)
		return r
	}
	r.pretendRollOut(ctx)
	r.process, err = programs.Start(cluster.Kubeconfig, r.revision, r.podName(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred(), "start istiod of %s", name)
	Expect(r.process.WaitForLeases(ctx)).To(Succeed(), "leases of %s", name)
	return r
}

// pretendRollOut writes what controllers and a kubelet would: the pod of the
// istiod that runs beside the cluster, and a Deployment that is rolled out.
func (r *realIstiod) pretendRollOut(ctx context.Context) {
	GinkgoHelper()
	c := client()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: r.podName(), Labels: map[string]string{"app": "istiod", "istio.io/rev": r.revision.Name, "sidecar.istio.io/inject": "false"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "discovery", Image: "localhost/none"}}},
	}
	created, err := c.CoreV1().Pods(r.revision.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred(), "create istiod's pod")
	created.Status.Phase = corev1.PodRunning
	_, err = c.CoreV1().Pods(r.revision.Namespace).UpdateStatus(ctx, created, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred(), "write the status of istiod's pod")
	deployment, err := c.AppsV1().Deployments(r.revision.Namespace).Get(ctx, "istiod-"+r.revision.Name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred(), "get istiod's Deployment")
	replicas := int32(1)
	if deployment.Spec.Replicas != nil {
		replicas = *deployment.Spec.Replicas
	}
	s := &deployment.Status
	s.ObservedGeneration, s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas = deployment.Generation, replicas, replicas, replicas, replicas
	_, err = c.AppsV1().Deployments(r.revision.Namespace).UpdateStatus(ctx, deployment, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred(), "write the status of istiod's Deployment")
}

// end ends the revision: its istiod, and then everything that was installed of
// it. With release the istiod ends while its Role is there, as on SIGTERM;
// otherwise it has no time or no permission to release its leases.
func (r *realIstiod) end(ctx context.Context, release bool) {
	GinkgoHelper()
	switch {
	case r.process != nil:
		if release {
			Expect(r.process.Terminate(ctx)).To(Succeed(), "terminate istiod of %s", r.revision.Name)
		} else {
			Expect(r.process.Kill()).To(Succeed(), "kill istiod of %s", r.revision.Name)
		}
		grace := int64(0)
		Expect(client().CoreV1().Pods(r.revision.Namespace).Delete(ctx, r.podName(), metav1.DeleteOptions{GracePeriodSeconds: &grace})).To(Succeed())
		r.process = nil
	case release:
		_, err := client().AppsV1().Deployments(r.revision.Namespace).UpdateScale(ctx, "istiod-"+r.revision.Name,
			&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "istiod-" + r.revision.Name, Namespace: r.revision.Namespace}}, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred(), "scale istiod of %s down", r.revision.Name)
		Eventually(ctx, func() (int, error) {
			pods, err := client().CoreV1().Pods(r.revision.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=istiod,istio.io/rev=" + r.revision.Name})
			return len(pods.Items), err
		}).WithTimeout(timeouts.Cluster).Should(BeZero(), "pods of %s", r.revision.Name)
	}
	Expect(r.installed.Uninstall(ctx)).To(Succeed(), "uninstall %s", r.revision.Name)
}

// imageLoader is a provider that can bring an image into its cluster's nodes.
type imageLoader interface {
	LoadImageArchive(ctx context.Context, archive string, args ...string) error
}

// loadImage brings istiod's image into the nodes of the cluster.
func loadImage(ctx context.Context) istio.Image {
	GinkgoHelper()
	image, err := programs.BuildImage()
	Expect(err).NotTo(HaveOccurred(), "build istiod's image")
	loader, ok := provider.(imageLoader)
	Expect(ok).To(BeTrue(), "clusters of kind %s take images", strings.TrimSpace(*clusterKind))
	Expect(loader.LoadImageArchive(ctx, image.Archive)).To(Succeed(), "load istiod's image")
	return image
}
