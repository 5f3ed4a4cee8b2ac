package aks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/mesh-postflight/mesh-postflight/fixtures/fakearm"
	"github.com/mesh-postflight/mesh-postflight/mesh/aks"
)

const (
	reading = "get managed cluster svc-westus3 from ARM: "
	listing = "list mesh upgrade profiles of svc-westus3 from ARM: "
)

func TestWhatARMRefusesIsAnErrorInOneLine(t *testing.T) {
	for name, row := range map[string]struct {
		fault fakearm.Fault
		says  string
		asked int
	}{
		"an unknown identity": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 401, Code: "InvalidAuthenticationToken", Message: "The token is bad."},
			reading + "ARM answered 401 InvalidAuthenticationToken: The token is bad.", 1,
		},
		"a missing permission": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 403, Code: "AuthorizationFailed", Message: "no read for you"},
			reading + "ARM answered 403 AuthorizationFailed: no read for you", 1,
		},
		"a missing permission for profiles": {
			fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 403, Code: "AuthorizationFailed", Message: "no list for you"},
			listing + "ARM answered 403 AuthorizationFailed: no list for you", 1,
		},
		"a cluster that is not there": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 404, Code: "ResourceNotFound", Message: "It was not found."},
			reading + "ARM answered 404 ResourceNotFound: It was not found.", 1,
		},
		"another conflict": {
			fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 409, Code: "OperationNotAllowed", Message: "another operation is in progress"},
			listing + "ARM answered 409 OperationNotAllowed: another operation is in progress", 1,
		},
		"an upgrade in progress, where it does not belong": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 409, Code: "ServiceMeshUpgradeInProgress"},
			reading + "ARM answered 409 ServiceMeshUpgradeInProgress", 1,
		},
		"an upgrade in progress, with another status": {
			fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 400, Code: "ServiceMeshUpgradeInProgress", Message: "m"},
			listing + "ARM answered 400 ServiceMeshUpgradeInProgress: m", 1,
		},
		"a long throttling": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 429, Code: "Throttled", Message: "too much", RetryAfter: 2 * time.Minute},
			reading + "ARM answered 429 Throttled: too much (Retry-After: 120)", 1,
		},
		"throttling for ever": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 429, Code: "Throttled"},
			reading + "ARM answered 429 Throttled", 4,
		},
		"500 for ever": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 500, Code: "InternalServerError", Message: "oops"},
			reading + "ARM answered 500 InternalServerError: oops", 4,
		},
		"500 for ever on profiles": {
			fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 500, Code: "InternalServerError"},
			listing + "ARM answered 500 InternalServerError", 4,
		},
		"a message of several lines": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 403, Code: "AuthorizationFailed", Message: "first,\r\n\tsecond.\n"},
			reading + "ARM answered 403 AuthorizationFailed: first, second.", 1,
		},
		"an error without a body": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 403, Body: fakearm.Empty},
			reading + "ARM answered 403", 1,
		},
		"an error that is no JSON": {
			fakearm.Fault{Route: fakearm.GetCluster, Status: 404, Body: fakearm.Malformed},
			reading + "ARM answered 404", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			arm := startARM(t, settled())
			inject(t, arm, row.fault)

			got, err := readerOf(t, arm.URL()).Installation(t.Context())

			g.Expect(err).To(MatchError(row.says))
			g.Expect(got).To(BeZero())
			var answer *azcore.ResponseError
			g.Expect(errors.As(err, &answer)).To(BeTrue(), "ARM's answer can be asked for")
			g.Expect(answer.StatusCode).To(Equal(row.fault.Status))
			path := clusterPath
			if row.fault.Route == fakearm.ListUpgradeProfiles {
				path = profilesPath
			}
			asked := 0
			for _, p := range paths(arm) {
				if p == path {
					asked++
				}
			}
			g.Expect(asked).To(Equal(row.asked), "requests")
		})
	}
}

func TestWhatCannotBeReadIsAnErrorInOneLine(t *testing.T) {
	for name, row := range map[string]struct {
		fault fakearm.Fault
		says  string
	}{
		"a cluster that is cut off":   {fakearm.Fault{Route: fakearm.GetCluster, Body: fakearm.CutOff}, reading},
		"a cluster that is no JSON":   {fakearm.Fault{Route: fakearm.GetCluster, Body: fakearm.Malformed}, reading},
		"a cluster that is empty":     {fakearm.Fault{Route: fakearm.GetCluster, Body: fakearm.Empty}, reading},
		"profiles that are cut off":   {fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Body: fakearm.CutOff}, listing},
		"profiles that are no JSON":   {fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Body: fakearm.Malformed}, listing},
		"profiles that are empty":     {fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Body: fakearm.Empty}, listing},
		"a refusal that is cut off":   {fakearm.Fault{Route: fakearm.GetCluster, Status: 403, Body: fakearm.CutOff}, reading},
		"an upgrade that is cut off":  {fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 409, Code: "ServiceMeshUpgradeInProgress", Body: fakearm.CutOff}, listing},
		"an upgrade without its code": {fakearm.Fault{Route: fakearm.ListUpgradeProfiles, Status: 409, Code: "ServiceMeshUpgradeInProgress", Body: fakearm.Malformed}, listing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			arm := startARM(t, settled())
			inject(t, arm, row.fault)
			got, err := readerOf(t, arm.URL()).Installation(t.Context())
			g.Expect(err).To(MatchError(And(HavePrefix(row.says), Not(ContainSubstring("\n")))))
			g.Expect(got).To(BeZero())
		})
	}
}

func TestAnswersOfAnotherShapeAreErrors(t *testing.T) {
	const mesh = `{"properties":{"serviceMeshProfile":{"mode":"Istio"}}}`
	for name, row := range map[string]struct{ cluster, profiles, says string }{
		"no object":                   {`[]`, "", reading},
		"null":                        {`null`, "", reading},
		"no properties":               {`{"name":"svc-westus3"}`, "", reading},
		"null properties":             {`{"properties":null}`, "", reading},
		"properties that are a list":  {`{"properties":[]}`, "", reading},
		"a profile that is a list":    {`{"properties":{"serviceMeshProfile":[]}}`, "", reading},
		"revisions that are a string": {`{"properties":{"serviceMeshProfile":{"mode":"Istio","istio":{"revisions":"asm-1-29"}}}}`, "", reading},
		"a revision that is a number": {`{"properties":{"serviceMeshProfile":{"mode":"Istio","istio":{"revisions":[129]}}}}`, "", reading},
		"a page of HTML":              {"<html>\n<body>\nSign in\n", "", reading},
		"no list of profiles":         {mesh, `{}`, listing},
		"a null list of profiles":     {mesh, `{"value":null}`, listing},
		"profiles that are no list":   {mesh, `{"value":{}}`, listing},
		"a page of HTML for profiles": {mesh, "<html>\n<body>\nSign in\n", listing},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			arm := startAnswering(t, map[string]string{clusterPath: row.cluster, profilesPath: row.profiles})
			got, err := readerOf(t, arm.URL).Installation(t.Context())
			g.Expect(err).To(MatchError(And(HavePrefix(row.says), Not(ContainSubstring("\n")))))
			g.Expect(got).To(BeZero())
		})
	}
}

func TestUpgradeProfilesAreReadToTheirEnd(t *testing.T) {
	for name, row := range map[string]struct {
		code            string
		status          int
		upgrading, says string
	}{
		"a whole second page": {"", http.StatusOK, "", ""},
		"a refused second page": {"ServiceMeshUpgradeInProgress", http.StatusConflict,
			"ARM answered 409 ServiceMeshUpgradeInProgress: of page two", ""},
		"a denied second page": {"AuthorizationFailed", http.StatusForbidden, "", listing + "ARM answered 403 AuthorizationFailed: of page two"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pages := 0
			var arm *httptest.Server
			arm = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				body := `{"properties":{"serviceMeshProfile":{"mode":"Istio"}}}`
				switch {
				case r.URL.Query().Has("page"):
					pages++
					w.WriteHeader(row.status)
					body = `{"value":[],"code":"` + row.code + `","message":"of page two"}`
				case r.URL.Path == profilesPath:
					pages++
					body = `{"value":[],"nextLink":"` + arm.URL + profilesPath + `?page=2"}`
				}
				_, _ = w.Write([]byte(body))
			}))
			defer arm.Close()

			got, err := readerOf(t, arm.URL).Installation(t.Context())

			g.Expect(pages).To(Equal(2))
			g.Expect(got.UpgradeInProgress).To(Equal(row.upgrading))
			if row.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.says))
			}
		})
	}
}

// The SDK would register it unless told not to, which is a write.
func TestAProviderThatIsNotRegisteredStaysSo(t *testing.T) {
	g := NewWithT(t)
	arm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != clusterPath {
			t.Errorf("%s %s arrived", r.Method, r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"error":{"code":"MissingSubscriptionRegistration","message":"not registered"}}`))
	}))
	defer arm.Close()
	_, err := readerOf(t, arm.URL).Installation(t.Context())
	g.Expect(err).To(MatchError(reading + "ARM answered 409 MissingSubscriptionRegistration: not registered"))
}

func TestFaultsThatPassAreForgotten(t *testing.T) {
	for name, fault := range map[string]fakearm.Fault{
		"two server errors":  {Route: fakearm.GetCluster, Status: 500, Times: 2},
		"a broken answer":    {Route: fakearm.ListUpgradeProfiles, Body: fakearm.CutOff, Times: 1},
		"a short throttling": {Route: fakearm.ListUpgradeProfiles, Status: 429, RetryAfter: time.Second, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			arm := startARM(t, settled())
			inject(t, arm, fault)
			got, err := readerOf(t, arm.URL()).Installation(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(facts()))
		})
	}
}

func TestACancelledReadingEnds(t *testing.T) {
	for _, route := range []fakearm.Route{fakearm.GetCluster, fakearm.ListUpgradeProfiles} {
		t.Run(route.String(), func(t *testing.T) {
			g := NewWithT(t)
			arm := startARM(t, settled())
			inject(t, arm, fakearm.Fault{Route: route, Delay: time.Hour})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			r := readerOf(t, arm.URL())
			go func() {
				_, err := r.Installation(ctx)
				failed <- err
			}()
			g.Eventually(arm.Journal).WithTimeout(10 * time.Second).Should(HaveLen(int(route)))

			cancel()

			var err error
			g.Eventually(failed).WithTimeout(10 * time.Second).Should(Receive(&err))
			g.Expect(err).To(MatchError(context.Canceled))
			g.Expect(err).To(MatchError(And(ContainSubstring("svc-westus3 from ARM: "), Not(ContainSubstring("\n")))))
		})
	}
}

func TestAnARMThatIsNotThereIsAnErrorInOneLine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err := readerOf(t, gone.URL).Installation(t.Context())
	g.Expect(err).To(MatchError(HavePrefix(reading)))
	g.Expect(strings.Count(err.Error(), "\n")).To(BeZero())
}

// Gomega prints an unexpected error in all its parts.
func TestAnErrorHoldsNoTokenInAnyOfItsParts(t *testing.T) {
	g := NewWithT(t)
	arm := startARM(t, settled())
	inject(t, arm, fakearm.Fault{Route: fakearm.GetCluster, Status: 403})
	_, err := readerOf(t, arm.URL()).Installation(t.Context())
	g.Expect(err).To(HaveOccurred())
	g.Expect(format.Object(err, 0)).To(And(ContainSubstring("ResponseError"), Not(ContainSubstring(aks.FakeToken))))
}

// An answer may lead elsewhere, and the token would go along.
func TestNoAnswerLeadsAwayFromARM(t *testing.T) {
	const cluster = `{"properties":{"provisioningState":"Succeeded","serviceMeshProfile":{"mode":"Istio","istio":{"revisions":["asm-1-29"]}}}}`
	for name, lead := range map[string]func(elsewhere string, w http.ResponseWriter, r *http.Request){
		"by a redirect": func(elsewhere string, w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusFound)
		},
		"by a next page": func(elsewhere string, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == profilesPath {
				_, _ = fmt.Fprintf(w, `{"value":[],"nextLink":"%s/next"}`, elsewhere)
				return
			}
			_, _ = io.WriteString(w, cluster)
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				_, _ = io.WriteString(w, cluster)
			}))
			defer elsewhere.Close()
			arm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { lead(elsewhere.URL, w, r) }))
			defer arm.Close()
			_, err := readerOf(t, arm.URL).Installation(t.Context())
			NewWithT(t).Expect(err).To(HaveOccurred())
			NewWithT(t).Expect(asked).To(BeZero(), "requests elsewhere; %v", err)
		})
	}
}

func TestAListWithoutEndIsGivenUp(t *testing.T) {
	asked := 0
	var arm *httptest.Server
	arm = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != profilesPath {
			_, _ = io.WriteString(w, `{"properties":{"serviceMeshProfile":{"mode":"Istio"}}}`)
			return
		}
		asked++
		_, _ = fmt.Fprintf(w, `{"value":[],"nextLink":"%s%s?page=again"}`, arm.URL, profilesPath)
	}))
	defer arm.Close()
	_, err := readerOf(t, arm.URL).Installation(t.Context())
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("more than 20 pages")))
	NewWithT(t).Expect(asked).To(Equal(20))
}

func TestAnAnswerOfAnotherClusterIsNone(t *testing.T) {
	for id, ok := range map[string]bool{
		clusterID: true, strings.ToUpper(clusterID): true, clusterID + "0": false,
	} {
		arm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"id":%q,"properties":{"serviceMeshProfile":null}}`, id)
		}))
		_, err := readerOf(t, arm.URL).Installation(t.Context())
		arm.Close()
		if (err == nil) != ok {
			t.Errorf("%s: %v", id, err)
		}
	}
}
