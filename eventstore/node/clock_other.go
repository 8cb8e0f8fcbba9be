//go:build !linux

package node

import "time"

// elapsed is the time of a clock that never jumps.
func elapsed() time.Duration { return time.Since(processStart) }
