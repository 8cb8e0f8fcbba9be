package postgres

import (
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// A side of a connection notices after 20 s that the other side has vanished: 5 s without data, and
// three probes, one every 5 s. The defaults of the kernel take two hours. The locks of a vanished
// machine would be held as long.
const (
	keepAliveIdle     = 5 * time.Second
	keepAliveInterval = 5 * time.Second
	keepAliveProbes   = 3
	// vanishedAfter bounds the wait for the receipt of sent data. Probes are sent only while no data
	// is under way.
	vanishedAfter = keepAliveIdle + keepAliveProbes*keepAliveInterval
)

// KeepAlive makes both sides of new connections notice that the other side has vanished. The runtime
// parameters of the URL override the settings of the server's side.
func KeepAlive(config *pgx.ConnConfig) {
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveProbes},
		Control:         limitUnacknowledged,
	}
	config.DialFunc = dialer.DialContext
	for name, value := range map[string]string{
		"tcp_keepalives_idle":     fmt.Sprint(int(keepAliveIdle.Seconds())),
		"tcp_keepalives_interval": fmt.Sprint(int(keepAliveInterval.Seconds())),
		"tcp_keepalives_count":    fmt.Sprint(keepAliveProbes),
		"tcp_user_timeout":        fmt.Sprint(vanishedAfter.Milliseconds()),
		// A statement that runs for long ends when its client has vanished.
		"client_connection_check_interval": fmt.Sprint(keepAliveIdle.Milliseconds()),
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
}
