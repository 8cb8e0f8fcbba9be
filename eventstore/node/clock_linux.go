package node

import (
	"time"

	"golang.org/x/sys/unix"
)

// elapsed is the time of a clock that never jumps and also runs while the machine is suspended. The
// monotonic clock of package time stops during a suspend.
func elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(processStart)
	}
	return time.Duration(t.Nano())
}
