package aks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Clouds are the names of the Azure clouds, the default first.
func Clouds() []string { return []string{"AzurePublic", "AzureGovernment", "AzureChina"} }

// ParseCloud returns the SDK's configuration of a cloud by its name. The empty
// name is AzurePublic. The names that the Azure CLI uses (AzureCloud,
// AzureUSGovernment, AzureChinaCloud) are understood too, in any case.
func ParseCloud(name string) (cloud.Configuration, error) {
	switch strings.ToLower(name) {
	case "", "azurepublic", "azurecloud", "azurepubliccloud":
		return cloud.AzurePublic, nil
	case "azuregovernment", "azureusgovernment", "azureusgovernmentcloud":
		return cloud.AzureGovernment, nil
	case "azurechina", "azurechinacloud":
		return cloud.AzureChina, nil
	}
	return cloud.Configuration{}, fmt.Errorf("%q is no Azure cloud; known are %s", name, strings.Join(Clouds(), ", "))
}

// ParseEndpoint checks the address of a faked ARM. Only a loopback address is
// one: an endpoint elsewhere would be sent what is meant for ARM.
func ParseEndpoint(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("%q is no URL: %w", endpoint, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q has not the form http://127.0.0.1:<port>", endpoint)
	}
	// A name could resolve to anything, also "localhost".
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%q is not a loopback address (127.0.0.1 or [::1]): it is only for a faked ARM on this machine", endpoint)
	}
	return u, nil
}

// connect returns the credential and the client options for a cloud, or for a
// faked ARM when endpoint is not nil. A faked ARM never gets a real credential.
func connect(configuration cloud.Configuration, endpoint *url.URL) (azcore.TokenCredential, *arm.ClientOptions, error) {
	// All four tries together end within two minutes, so that ARM's own answer
	// comes back and not the caller's deadline. A Retry-After longer than
	// MaxRetryDelay comes back at once, unretried.
	options := &arm.ClientOptions{ClientOptions: policy.ClientOptions{
		Cloud: configuration,
		Retry: policy.RetryOptions{MaxRetries: 3, TryTimeout: 20 * time.Second, RetryDelay: time.Second, MaxRetryDelay: 10 * time.Second},
	}}
	options.DisableRPRegistration = true // registering a provider would be a write
	// An answer that leads elsewhere would take the credential along.
	options.Transport = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if endpoint == nil {
		credential, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options.ClientOptions})
		if err != nil {
			return nil, nil, fmt.Errorf("find an Azure credential: %w", err)
		}
		return credential, staying(options), nil
	}
	options.Cloud = cloud.Configuration{
		ActiveDirectoryAuthorityHost: endpoint.String(),
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: strings.TrimSuffix(endpoint.String(), "/"), Audience: "faked-arm"},
		},
	}
	options.InsecureAllowCredentialWithHTTP = true
	options.Retry.RetryDelay = 100 * time.Millisecond
	return fakeCredential{}, staying(options), nil
}

// staying returns options whose client sends requests to ARM's own address only,
// wherever the link to a next page leads.
func staying(options *arm.ClientOptions) *arm.ClientOptions {
	options.PerCallPolicies = append(options.PerCallPolicies, onlyTo(options.Cloud.Services[cloud.ResourceManager].Endpoint))
	return options
}

// onlyTo is a policy that refuses requests to another address than this one.
type onlyTo string

// Do implements policy.Policy.
func (endpoint onlyTo) Do(req *policy.Request) (*http.Response, error) {
	own, err := url.Parse(string(endpoint))
	if err != nil {
		return nil, fmt.Errorf("read the address of ARM: %w", err)
	}
	if to := req.Raw().URL; to.Scheme != own.Scheme || to.Host != own.Host {
		return nil, fmt.Errorf("refused %s: it leads away from %s", to.Host, own.Host)
	}
	return req.Next()
}

// FakeToken is what a faked ARM gets in place of a credential.
const FakeToken = "postflight-fake-token"

type fakeCredential struct{}

func (fakeCredential) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	for _, scope := range o.Scopes {
		if !strings.HasPrefix(scope, "faked-arm/") {
			return azcore.AccessToken{}, errors.New("the fake credential is for a faked ARM only")
		}
	}
	return azcore.AccessToken{Token: FakeToken, ExpiresOn: time.Now().Add(time.Hour)}, nil
}
