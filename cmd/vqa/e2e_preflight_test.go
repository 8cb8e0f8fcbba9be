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

// nowhere is an address for documentation, which no network routes.
const nowhere = "192.0.2.1"

// TestConnectionInABrowser tests the connection on the page /live with Chromium: each way alone, without a stream and
// without credits.
func TestConnectionInABrowser(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	own := ownAddress(t)
	direct := `^UDP: works, \d+ ms\. TCP: works, \d+ ms\. `
	for name, run := range map[string]struct{ relay, public, want string }{
		"with a relay":    {"0.0.0.0:0", "", direct + `Relay: works, \d+ ms\. Your video can reach the service\.$`},
		"without a relay": {"off", "", direct + `Relay: not offered by the service\. Your video can reach the service\.$`},
		// The service announces an address that no packet reaches, as behind a firewall.
		"no way": {"0.0.0.0:0", nowhere, `^UDP: does not work\. TCP: does not work\. Relay: does not work\. Your video cannot reach the service\. ` +
			`Try another network, without a VPN, or ask the operator of the service for a relay\. The service says: The client .+\.$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ownService(t, "VQA_MEDIA_ADDR=0.0.0.0:0", "VQA_TURN_ADDR="+run.relay, "VQA_MEDIA_PUBLIC_IP="+run.public)
			c := s.account(t, 100)
			minted := c.call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"streams:create"}})
			require.Equal(t, http.StatusCreated, minted.status, "%s", minted.raw)
			// Chromium also applies the rules to the addresses of TCP candidates.
			b := visit(t, "http://"+s.addr+"/live", "", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE "+own+", EXCLUDE "+nowhere)
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

// actedPreflight stands for the service: the test says what each way reports. A way without a report is not offered.
const actedPreflight = `
	window.reports = {};
	const asked = {};
	window.fetch = async (path, options) => {
		if (path === "/session/token") return new Response("{}", { status: 401 }); // nobody is signed in
		const { id, transport, sdp } = JSON.parse(options.body);
		if (!id) {
			const urls = window.reports.relay ? ["turn:192.0.2.1:3478"] : [];
			return new Response(JSON.stringify({ id: String(Math.random()), ice_servers: [{ urls, username: null, credential: null }] }));
		}
		if (sdp) asked[id] = transport;
		return new Response(JSON.stringify({ id, sdp: "answer", report: sdp ? null : window.reports[asked[id]] }));
	};
	window.RTCPeerConnection = class {
		iceGatheringState = "complete";
		localDescription = { sdp: "offer" };
		addTransceiver() {}
		async createOffer() { return {}; }
		async setLocalDescription() {}
		async setRemoteDescription() {}
		close() {}
	};`

// TestConnectionWords shows the words of the page /live for what a test of the connection can find.
func TestConnectionWords(t *testing.T) {
	t.Parallel()
	b := visit(t, "http://"+sharedService(t).addr+"/live", actedPreflight)
	b.tab("token")
	b.typeText("svcct_acted")
	const failed, advice = `{ connected: false, hint: null }`, "Try another network, without a VPN, or ask the operator of the service for a relay."
	for _, tt := range []struct{ reports, want string }{
		{`{ udp: ` + failed + `, tcp: ` + failed + `, relay: ` + failed + ` }`,
			"UDP: does not work. TCP: does not work. Relay: does not work. Your video cannot reach the service. " + advice},
		{`{ udp: { connected: false, hint: "A firewall drops UDP." }, tcp: ` + failed + ` }`,
			"UDP: does not work. TCP: does not work. Relay: not offered by the service. Your video cannot reach the service. " + advice +
				" The service says: A firewall drops UDP."},
		{`{ udp: ` + failed + `, tcp: ` + failed + `, relay: { connected: true, connect_ms: 123 } }`,
			"UDP: does not work. TCP: does not work. Relay: works, 123 ms. Your video can reach the service."},
	} {
		b.eval(`window.reports = ` + tt.reports)
		b.eval(`document.getElementById("connection").textContent = ""`)
		b.tab("test")
		b.enter()
		b.await(`/Your video/.test(document.getElementById("connection").textContent)`)
		require.Equal(t, tt.want, b.text("connection"))
		require.Empty(t, b.text("trouble"))
	}
	b.picture("connection-words")
	require.Empty(t, b.complaints)
}
