package kube_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// The configs below lead to servers that cannot be asked.

func served(t *testing.T, handler http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func closedAddress(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(nil)
	server.Close()
	return &rest.Config{Host: server.URL}
}

// hijacking ends each connection without an answer: by a reset, or orderly.
func hijacking(t *testing.T, reset bool) *rest.Config {
	t.Helper()
	return served(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if reset {
			err = connection.(*net.TCPConn).SetLinger(0)
		}
		if err = errors.Join(err, connection.Close()); err != nil {
			t.Error(err)
		}
	})
}

func cuttingOff(t *testing.T) *rest.Config {
	t.Helper()
	return served(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half"))
	})
}

func neverAnswering(t *testing.T) *rest.Config {
	t.Helper()
	cfg := served(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	cfg.Timeout = 50 * time.Millisecond
	return cfg
}

func unknownAuthority(t *testing.T) *rest.Config {
	t.Helper()
	return &rest.Config{Host: startAPIServer(t).server.URL}
}

// anotherName leads to a server that cannot prove the name it is to have.
func anotherName(t *testing.T) *rest.Config {
	t.Helper()
	cfg := startAPIServer(t).config()
	cfg.ServerName = "c1.hcp.example.com"
	return cfg
}
