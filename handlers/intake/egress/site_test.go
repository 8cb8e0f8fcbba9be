package egress

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// site is a TLS server on loopback, with the options that let a client reach it.
type site struct {
	*httptest.Server
	caFile string
}

func newSite(t *testing.T, h http.HandlerFunc) site {
	t.Helper()
	return newWatchedSite(t, h, nil)
}

// newWatchedSite calls watch, unless it is nil, with each change of a connection.
func newWatchedSite(t *testing.T, h http.HandlerFunc, watch func(net.Conn, http.ConnState)) site {
	t.Helper()
	s := site{Server: httptest.NewUnstartedServer(h), caFile: filepath.Join(t.TempDir(), "ca.pem")}
	s.Config.ConnState = watch
	s.StartTLS()
	t.Cleanup(s.Close)
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	require.NoError(t, os.WriteFile(s.caFile, block, 0o600))
	return s
}

func (s site) hostPort() string { return s.Listener.Addr().String() }

// client returns a client that may reach the site.
func (s site) client(t *testing.T, change ...func(*Options)) *Client {
	t.Helper()
	opt := Options{Allow: []string{s.hostPort()}, CAFile: s.caFile, connectTimeout: 20 * time.Second, headerTimeout: 20 * time.Second, idleTimeout: 20 * time.Second}
	for _, f := range change {
		f(&opt)
	}
	c, err := New(opt)
	require.NoError(t, err)
	return c
}
