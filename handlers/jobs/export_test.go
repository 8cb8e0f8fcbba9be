package jobs

// LockSQL and TakeLock let a test hold the lock under which a node chooses its analyses.
const (
	LockSQL  = lockSQL
	TakeLock = takeLock
)
