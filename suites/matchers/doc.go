// Package matchers holds Gomega matchers over the facts of a mesh.
//
// They are pure: facts in, verdict out, with neither client nor clock. A
// failure names how many of how many offend, what was expected and where that
// was read, and each offender on a line of its own. Input that leaves nothing
// to judge is an error, not a pass, except where none is a legitimate state.
package matchers
