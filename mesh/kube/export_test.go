package kube

import (
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Attempts is how often a request is made whose failure may pass.
var Attempts = attempts.Steps

// Tests wait for no more than the order of the attempts.
func init() { attempts.Duration = time.Millisecond }

// WaitBetweenAttempts makes the wait after an attempt longer, for one test.
func WaitBetweenAttempts(t *testing.T, d time.Duration) {
	before := attempts.Duration
	attempts.Duration = d
	t.Cleanup(func() { attempts.Duration = before })
}

// Client is what the reader asks with.
func (r *Reader) Client() kubernetes.Interface { return r.client }
