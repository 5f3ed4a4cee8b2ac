package aks_test

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	. "github.com/onsi/gomega"

	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

func TestParseCloud(t *testing.T) {
	for name, want := range map[string]cloud.Configuration{
		"":                       cloud.AzurePublic,
		"AzurePublic":            cloud.AzurePublic,
		"azurepublic":            cloud.AzurePublic,
		"AzureCloud":             cloud.AzurePublic,
		"AzurePublicCloud":       cloud.AzurePublic,
		"AzureGovernment":        cloud.AzureGovernment,
		"AZUREGOVERNMENT":        cloud.AzureGovernment,
		"AzureUSGovernment":      cloud.AzureGovernment,
		"AzureUSGovernmentCloud": cloud.AzureGovernment,
		"AzureChina":             cloud.AzureChina,
		"AzureChinaCloud":        cloud.AzureChina,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := aks.ParseCloud(name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
		})
	}
	for _, name := range []string{" ", "Azure", "AzureGermany", "AzurePublic ", "https://management.azure.com"} {
		t.Run("refuses "+name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := aks.ParseCloud(name)
			g.Expect(err).To(MatchError(HaveSuffix("is no Azure cloud; known are AzurePublic, AzureGovernment, AzureChina")))
		})
	}
	t.Run("knows every cloud that it names", func(t *testing.T) {
		g := NewWithT(t)
		for _, name := range aks.Clouds() {
			_, err := aks.ParseCloud(name)
			g.Expect(err).NotTo(HaveOccurred(), name)
		}
		first, err := aks.ParseCloud(aks.Clouds()[0])
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(first).To(Equal(cloud.AzurePublic), "the default comes first")
	})
}

func TestParseEndpoint(t *testing.T) {
	for _, endpoint := range []string{
		"http://127.0.0.1:8080", "https://127.0.0.1:8080", "http://127.0.0.1", "http://127.0.0.1:8080/", "http://127.0.0.2:1",
		"http://127.255.255.254:1", "http://[::1]:8080", "http://[::1]", "http://[::ffff:127.0.0.1]:8080", "HTTP://127.0.0.1:8080",
	} {
		t.Run("takes "+endpoint, func(t *testing.T) {
			g := NewWithT(t)
			u, err := aks.ParseEndpoint(endpoint)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(u.Hostname()).NotTo(BeEmpty())
		})
	}
	const form, place = "has not the form http://127.0.0.1:<port>", "is not a loopback address"
	for endpoint, says := range map[string]string{
		"":                                 form,
		"127.0.0.1:8080":                   "is no URL",
		"127.0.0.1":                        form,
		"//127.0.0.1:8080":                 form,
		"http:127.0.0.1:8080":              form,
		"http://":                          form,
		"http://:8080":                     form,
		"ftp://127.0.0.1:8080":             form,
		"unix:///var/run/arm.sock":         form,
		"http://user@127.0.0.1:8080":       form,
		"http://user:word@127.0.0.1:8080":  form,
		"http://127.0.0.1:8080@10.0.0.1":   form,
		"http://127.0.0.1:8080/arm":        form,
		"http://127.0.0.1:8080/?a=b":       form,
		"http://127.0.0.1:8080/#a":         form,
		"http://127.0.0.1:port":            "is no URL",
		"http://127.0.0.1:80 80":           "is no URL",
		"http://[::1":                      "is no URL",
		"http://localhost:8080":            place,
		"http://localhost.:8080":           place,
		"http://127.0.0.1.example.com":     place,
		"https://management.azure.com":     place,
		"http://10.0.0.1:8080":             place,
		"http://192.168.0.1:8080":          place,
		"http://0.0.0.0:8080":              place,
		"http://[::]:8080":                 place,
		"http://[fe80::1]:8080":            place,
		"http://[::ffff:10.0.0.1]:8080":    place,
		"http://169.254.169.254":           place,
		"http://128.0.0.1:8080":            place,
		"http://127.1:8080":                place,
		"http://2130706433:8080":           place,
		"http://0x7f000001:8080":           place,
		"http://0177.0.0.1:8080":           place,
		"http://[::1%25lo]:8080":           place,
		"http://127.0.0.1%2F.example.com/": "is no URL",
	} {
		t.Run("refuses "+endpoint, func(t *testing.T) {
			g := NewWithT(t)
			u, err := aks.ParseEndpoint(endpoint)
			g.Expect(err).To(MatchError(ContainSubstring(says)))
			g.Expect(u).To(BeNil())
		})
	}
}
