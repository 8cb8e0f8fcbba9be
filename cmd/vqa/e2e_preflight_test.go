package main_test

import (
	"net"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownAddress is an address of this machine that is not the loopback address.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range all {
		if own, ok := a.(*net.IPNet); ok && own.IP.To4() != nil && !own.IP.IsLoopback() && !own.IP.IsLinkLocalUnicast() {
			return own.IP.String()
		}
	}
	t.Skip("Chromium uses no relay on 127.0.0.1, and this machine has no other address")
	return ""
}

// TestConnectionInABrowser tests the connection on the page /live with Chromium: each way alone, without a stream and
// without credits.
func TestConnectionInABrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	own := ownAddress(t)
	direct := `^UDP: works, \d+ ms\. TCP: works, \d+ ms\. `
	for name, run := range map[string]struct{ relay, want string }{
		"with a relay":    {"0.0.0.0:0", direct + `Relay: works, \d+ ms\. Your video can reach the service\.$`},
		"without a relay": {"off", direct + `Relay: not offered by the service\. Your video can reach the service\.$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownService(t, "VQA_MEDIA_ADDR=0.0.0.0:0", "VQA_TURN_ADDR="+run.relay)
			c := s.account(t, 100)
			minted := c.call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"streams:create"}})
			require.Equal(t, http.StatusCreated, minted.status, "%s", minted.raw)
			// Chromium also applies the rules to the addresses of TCP candidates.
			b := visit(t, "http://"+s.addr+"/live", "", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE "+own)
			b.tab("token")
			b.typeText(minted.text("token"))
			b.tab("test")
			b.enter()
			b.await(`/Your video/.test(document.getElementById("connection").textContent)`)
			require.Regexp(t, run.want, b.text("connection"))
			b.picture("connection")
			require.Empty(t, b.text("trouble"))
			require.Empty(t, c.call(t, http.MethodGet, "/v1/streams", nil).at("data"))
			require.EqualValues(t, 100, c.credits(t).number("available_seconds"))
			require.Empty(t, b.complaints)
		})
	}
}
