package postupgrade

import "time"

// timeouts are all that the suite waits for. The wait for a recreated lease is
// the fixer's: leases.DefaultRecreationWait.
var timeouts = struct {
	// Read bounds one reading of ARM or the cluster, with its retries. ARM's
	// own answer comes back in less (mesh/aks), so that it can be told.
	Read time.Duration
	// Spec bounds a spec that only reads.
	Spec time.Duration
	// Fix bounds a spec that may repair: two readings of everything, the
	// deletions, and the wait for what comes back.
	Fix time.Duration
	// Grace is how long an interrupted repair has to finish the deletions under
	// way: four tries of kube.RequestTimeout, and their pauses.
	Grace time.Duration
}{
	Read: 2 * time.Minute,
	Spec: 5 * time.Minute,
	Fix:  15 * time.Minute,

	Grace: 90 * time.Second,
}
