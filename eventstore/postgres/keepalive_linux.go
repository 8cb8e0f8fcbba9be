package postgres

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged makes writes fail when the server does not acknowledge data for vanishedAfter.
func limitUnacknowledged(network, _ string, socket syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := socket.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(vanishedAfter.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
