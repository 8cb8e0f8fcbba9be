//go:build !linux

package postgres

import "syscall"

// limitUnacknowledged does nothing. The kernel limits the time for unacknowledged data.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
