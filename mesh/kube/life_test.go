package kube_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type labels = map[string]string

func meta(name string, l labels) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Labels: l} }

func deployment(name string, l labels) any { return appsv1.Deployment{ObjectMeta: meta(name, l)} }

func service(name string, l labels) any { return corev1.Service{ObjectMeta: meta(name, l)} }

func pod(name string, phase corev1.PodPhase, l labels) any {
	return corev1.Pod{ObjectMeta: meta(name, l), Status: corev1.PodStatus{Phase: phase}}
}

// webhook calls the services, each "namespace/name".
func webhook(name string, l labels, services ...admissionv1.ServiceReference) any {
	w := admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta(name, l)}
	for _, s := range services {
		w.Webhooks = append(w.Webhooks, admissionv1.MutatingWebhook{ClientConfig: admissionv1.WebhookClientConfig{Service: &s}})
	}
	return w
}

func calls(name string) admissionv1.ServiceReference {
	return admissionv1.ServiceReference{Namespace: "aks-istio-system", Name: name}
}

func TestSignsOfLife(t *testing.T) {
	rev := func(r string) labels { return labels{"istio.io/rev": r} }
	for name, row := range map[string]struct {
		path   string
		object any
		// want are the signs, each "revision: what".
		want []string
	}{
		"a Deployment by its name":         {deploymentsPath, deployment("istiod-asm-1-28", nil), []string{"asm-1-28: Deployment istiod-asm-1-28"}},
		"a Deployment by name and label":   {deploymentsPath, deployment("istiod-asm-1-28", rev("asm-1-28")), []string{"asm-1-28: Deployment istiod-asm-1-28", "asm-1-28: Deployment istiod-asm-1-28"}},
		"a Deployment by its label":        {deploymentsPath, deployment("aks-istio-ingressgateway-internal-asm-1-28", rev("asm-1-28")), []string{"asm-1-28: Deployment aks-istio-ingressgateway-internal-asm-1-28"}},
		"a Deployment whose label differs": {deploymentsPath, deployment("istiod-asm-1-28", rev("asm-1-27")), []string{"asm-1-27: Deployment istiod-asm-1-28", "asm-1-28: Deployment istiod-asm-1-28"}},
		"istiod without a revision":        {deploymentsPath, deployment("istiod", nil), []string{"default: Deployment istiod"}},
		"another Deployment":               {deploymentsPath, deployment("istio-cni-asm-1-28", labels{"app": "istiod-asm-1-28"}), nil},
		"a name that only ends like it":    {deploymentsPath, deployment("my-istiod-asm-1-28", nil), nil},
		"an empty label":                   {deploymentsPath, deployment("d", rev("")), nil},

		"a Service by its name":  {servicesPath, service("istiod-asm-1-28", nil), []string{"asm-1-28: Service istiod-asm-1-28"}},
		"a Service of a tag":     {servicesPath, service("istiod-revision-tag-prod", rev("asm-1-28")), []string{"asm-1-28: Service istiod-revision-tag-prod", "revision-tag-prod: Service istiod-revision-tag-prod"}},
		"a Service by its label": {servicesPath, service("s", rev("asm-1-28")), []string{"asm-1-28: Service s"}},
		"another Service":        {servicesPath, service("aks-istio-ingressgateway-internal", nil), nil},

		"a pod by its name":         {podsPath, pod("istiod-asm-1-28-7d9f5c6b8-x2x4z", corev1.PodRunning, nil), []string{"asm-1-28: pod istiod-asm-1-28-7d9f5c6b8-x2x4z (phase Running)"}},
		"a pod by its label":        {podsPath, pod("p", corev1.PodPending, rev("asm-1-28")), []string{"asm-1-28: pod p (phase Pending)"}},
		"a pod whose label differs": {podsPath, pod("istiod-asm-1-28-7d9f5c6b8-x2x4z", corev1.PodRunning, rev("asm-1-27")), []string{"asm-1-27: pod istiod-asm-1-28-7d9f5c6b8-x2x4z (phase Running)", "asm-1-28: pod istiod-asm-1-28-7d9f5c6b8-x2x4z (phase Running)"}},
		"a pod in an unknown phase": {podsPath, pod("p", corev1.PodUnknown, rev("asm-1-28")), []string{"asm-1-28: pod p (phase Unknown)"}},
		"a pod in no phase yet":     {podsPath, pod("p", "", rev("asm-1-28")), []string{"asm-1-28: pod p (phase )"}},
		"a pod that has succeeded":  {podsPath, pod("istiod-asm-1-28-7d9f5c6b8-x2x4z", corev1.PodSucceeded, rev("asm-1-28")), nil},
		"a pod that has failed":     {podsPath, pod("istiod-asm-1-28-7d9f5c6b8-x2x4z", corev1.PodFailed, rev("asm-1-28")), nil},
		"another pod":               {podsPath, pod("prober-7d9f5c6b8-x2x4z", corev1.PodRunning, nil), nil},

		"an injector by its name":           {webhooksPath, webhook("istio-sidecar-injector-asm-1-28-aks-istio-system", nil), []string{"asm-1-28: injector webhook istio-sidecar-injector-asm-1-28-aks-istio-system"}},
		"an injector without namespace":     {webhooksPath, webhook("istio-sidecar-injector-asm-1-28", nil), []string{"asm-1-28: injector webhook istio-sidecar-injector-asm-1-28"}},
		"an injector by its label":          {webhooksPath, webhook("w", rev("asm-1-28")), []string{"asm-1-28: injector webhook w"}},
		"an injector by its service":        {webhooksPath, webhook("w", nil, calls("istiod-asm-1-28")), []string{"asm-1-28: injector webhook w"}},
		"an injector by one service of two": {webhooksPath, webhook("w", nil, calls("other"), calls("istiod-asm-1-28")), []string{"asm-1-28: injector webhook w"}},
		"an injector without a revision":    {webhooksPath, webhook("istio-sidecar-injector", nil, calls("istiod")), []string{"default: injector webhook istio-sidecar-injector"}},
		"a webhook that calls a URL":        {webhooksPath, admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta("w", nil), Webhooks: []admissionv1.MutatingWebhook{{ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://10.0.0.4/inject")}}}}, nil},
		"a webhook of another namespace":    {webhooksPath, webhook("w", nil, admissionv1.ServiceReference{Namespace: "istio-system", Name: "istiod-asm-1-28"}), nil},
		"another webhook":                   {webhooksPath, webhook("aks-webhook", nil, calls("aks-webhook")), nil},

		"a tag as istioctl writes it": {
			webhooksPath, webhook("istio-revision-tag-prod-aks-istio-system", labels{"istio.io/rev": "asm-1-28", "istio.io/tag": "prod"}, calls("istiod-asm-1-28")),
			[]string{"asm-1-28: revision tag prod, webhook istio-revision-tag-prod-aks-istio-system", "asm-1-28: revision tag prod, webhook istio-revision-tag-prod-aks-istio-system"},
		},
		// Azure/ARO-Tools puts the tag where the revision belongs.
		"a tag as ARO-Tools writes it": {
			webhooksPath, webhook("istio-revision-tag-prod-aks-istio-system", labels{"istio.io/rev": "prod", "istio.io/tag": "prod"}, calls("istiod-asm-1-28")),
			[]string{"asm-1-28: revision tag prod, webhook istio-revision-tag-prod-aks-istio-system", "prod: revision tag prod, webhook istio-revision-tag-prod-aks-istio-system"},
		},
		"a tag whose service moved on": {
			webhooksPath, webhook("t", labels{"istio.io/rev": "asm-1-28", "istio.io/tag": "prod"}, calls("istiod-asm-1-29")),
			[]string{"asm-1-28: revision tag prod, webhook t", "asm-1-29: revision tag prod, webhook t"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			s.store(row.path, row.object)

			life, err := s.reader().Life(t.Context())

			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(life.Complete).To(BeTrue())
			var signs []string
			for _, s := range life.Signs {
				signs = append(signs, string(s.Revision)+": "+s.What)
			}
			slices.Sort(signs)
			g.Expect(signs).To(Equal(row.want))
		})
	}
}

func TestPodsOfLifeAreAllPodsWithTheirPhase(t *testing.T) {
	g := NewWithT(t)
	s := startAPIServer(t)
	s.store(podsPath, pod("a", corev1.PodRunning, nil), pod("b", corev1.PodFailed, nil), pod("c", corev1.PodSucceeded, labels{"istio.io/rev": "asm-1-28"}), pod("d", "", nil))

	life, err := s.reader().Life(t.Context())

	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(life.Pods).To(Equal(map[string]string{"a": "Running", "b": "Failed", "c": "Succeeded", "d": ""}))
}

func TestLifeOfAnEmptyNamespaceIsComplete(t *testing.T) {
	g := NewWithT(t)
	life, err := startAPIServer(t).reader().Life(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(life.Complete).To(BeTrue())
	g.Expect(life.Signs).To(BeEmpty())
}

func TestLifeThatIsReadInPartIsAnErrorAndNotComplete(t *testing.T) {
	all := map[string]string{
		deploymentsPath: "list deployments in aks-istio-system: ", servicesPath: "list services in aks-istio-system: ",
		podsPath: "list pods in aks-istio-system: ", webhooksPath: "list mutatingwebhookconfigurations: ",
	}
	for path, says := range all {
		t.Run(kinds[path], func(t *testing.T) {
			g := NewWithT(t)
			s := startAPIServer(t)
			s.store(deploymentsPath, deployment("istiod-asm-1-28", nil))
			s.store(servicesPath, service("istiod-asm-1-28", nil))
			s.answer(path, failing(403, metav1.StatusReasonForbidden))

			life, err := s.reader().Life(t.Context())

			g.Expect(err).To(MatchError(says + "the message of Forbidden"))
			g.Expect(life.Complete).To(BeFalse())
			g.Expect(life.Of("asm-1-28")).NotTo(BeEmpty(), "what was read comes along")
		})
	}
	t.Run("every list", func(t *testing.T) {
		g := NewWithT(t)
		s := startAPIServer(t)
		for path := range all {
			s.answer(path, failing(403, metav1.StatusReasonForbidden))
		}
		life, err := s.reader().Life(t.Context())
		for _, says := range all {
			g.Expect(err).To(MatchError(ContainSubstring(says)), "each is told")
		}
		g.Expect(life.Complete).To(BeFalse())
	})
}
