// Package mesh holds what is known about an Istio mesh on a cluster and the
// rules that judge it.
//
// It is pure: it reads neither clock nor API, and imports no client. Facts are
// plain data that encode to JSON, so a snapshot can be kept and judged again
// without a cluster. The zero value of a fact never speaks for deleting
// anything: what was not read is unknown, and an unknown is kept.
package mesh
