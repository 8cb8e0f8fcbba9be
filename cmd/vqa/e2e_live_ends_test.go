package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/gpu/fixture"
)

// actedService stands for the service below the page /live: the test says what it answers, so that each end reason
// and each message can be seen.
const actedService = `
	window.stream = { id: "st_1", status: "ready", end_reason: null, signaling: { url: "ws://service/v1/streams/st_1/signal" },
		duration_s: null, usage: null, failure_diagnostic: null };
	window.fetch = async (path, options) => path === "/session/token" ? new Response("{}", { status: 401 }) // nobody is signed in
		: new Response(JSON.stringify(window.stream), { status: options.method === "POST" ? 201 : 200 });
	window.sent = [];
	window.WebSocket = class {
		static OPEN = 1;
		constructor() { this.readyState = 1; window.socket = this; setTimeout(() => this.onopen?.()); }
		send(text) { window.sent.push(JSON.parse(text)); if (JSON.parse(text).type === "join") window.say({ type: "ready", ice_servers: [] }); }
		close() { this.readyState = 3; }
	};
	window.say = (message) => window.socket.onmessage({ data: JSON.stringify(message) });`

// say lets the service of actedService send a message.
func (b *browser) say(t *testing.T, message map[string]any) {
	t.Helper()
	text, err := json.Marshal(message)
	require.NoError(t, err)
	b.eval(fmt.Sprintf("window.say(%s)", text))
}

// TestLivePageSaysWhyItEnded shows each end reason and each message of the service, and uses the page with the
// keyboard only.
func TestLivePageSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	b := visit(t, "http://"+sharedService(t).addr+"/live", actedService, camera(t, clip(t, cameraClip))...)
	b.tab("token")
	b.typeText("svcct_acted")
	b.tab("question")
	b.typeText("Is there a stop sign?")

	titles := map[any]bool{}
	for i, tt := range []struct {
		reason, hint, title, advice string
		billed, results             int
	}{
		{"completed", "", "The stream has ended.", "Start another one at any time. Billed", 12, 60},
		{"completed", "", "The stream has ended.", "Start another one at any time. The model gave no answer in this time. Billed", 9, 0},
		{"canceled", "", "The stream ended before it was live.", "Start another one at any time. Nothing", 0, 0},
		{"insufficient_credits", "", "The credits of the account are used up.", "adds some with vqa credits grant", 60, 1},
		{"error", "", "The service failed.", "Seconds without video are not billed.", 3, 1},
		{"timeout", "", "The stream has reached the longest session that the service allows.", "Start another stream to continue.", 3600, 1},
		{"ice_failed", "A firewall drops UDP in one direction.", "Your browser and the service found no network path to each other.", "Try another network", 0, 0},
		{"media_timeout", "The connection works, but no video arrived.", "The connection works, but no picture or no answer arrived in time.", "Check that the picture on this page moves", 0, 0},
		{"a_reason_of_tomorrow", "", "The stream has ended (a_reason_of_tomorrow).", "Billed", 5, 1},
	} {
		livemode := i%2 == 0
		b.eval(fmt.Sprintf(`window.stream.livemode = %t`, livemode))
		if i == 0 {
			b.enter() // in the field of the question
		} else {
			b.tab("start")
			b.enter()
		}
		b.await(`window.sent.some((m) => m.type === "offer")`)
		require.Equal(t, "connecting", b.eval("document.body.dataset.phase"), tt.reason)
		b.say(t, map[string]any{"type": "queued", "position": 2, "estimated_start_s": 1})
		require.Equal(t, "Waiting for a free place: number 2 in the queue, about 1 second.", b.text("state"))
		b.say(t, map[string]any{"type": "live", "live_started_at": "2026-01-02T03:04:05.000Z"})
		require.Equal(t, true, b.eval(`document.getElementById("test-mode").hidden`))
		b.say(t, map[string]any{"type": "result", "seq": 1, "t_s": 0, "answer": "yes", "confidence": 1, "detected_count": nil, "indeterminate_reason": nil, "detections": []any{}})
		require.Equal(t, livemode, b.eval(`document.getElementById("test-mode").hidden`), "a canned answer has a banner")
		b.say(t, map[string]any{"type": "warning", "remaining_s": 60})
		require.Equal(t, "The stream ends in 60 seconds.", b.text("trouble"))
		b.say(t, map[string]any{"type": "error", "code": "inference_unavailable", "message": "The model does not answer at the moment."})
		require.Equal(t, "The model does not answer at the moment.", b.text("trouble"))

		hint, err := json.Marshal(tt.hint)
		require.NoError(t, err)
		b.eval(fmt.Sprintf(`Object.assign(window.stream, { status: "ended", end_reason: %q, usage: { billed_seconds: %d, credit_balance_after: 40 },
			results_summary: { result_frames: %d }, failure_diagnostic: %s === "" ? null : { hint: %s } })`, tt.reason, tt.billed, tt.results, hint, hint))
		b.say(t, map[string]any{"type": "end", "reason": tt.reason})
		b.await(`document.body.dataset.phase === "ended"`)
		require.Equal(t, tt.title, b.text("outcome-title"))
		advice := b.text("outcome-advice")
		require.Contains(t, advice, tt.advice)
		require.Contains(t, advice, tt.hint)
		bill := fmt.Sprintf(`Billed: %s seconds?\.`, grouped(tt.billed))
		if tt.billed == 0 {
			bill = `Nothing was billed\.`
		}
		require.Regexp(t, bill+` Credits left: 40 seconds\.$`, advice)
		require.Equal(t, "outcome", b.eval("document.activeElement.id"), "a screen reader says it at once")
		require.Empty(t, b.text("trouble"), "the warning is over")
		titles[b.text("outcome-title")] = true
		b.picture("end-" + tt.reason)
		b.eval(`window.sent = []; Object.assign(window.stream, { status: "ready", end_reason: null, usage: null, failure_diagnostic: null })`)
	}
	require.Len(t, titles, 8, "no two reasons have the same words")
	require.Empty(t, b.complaints)
}

// grouped writes a number with a comma, as the page does.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// TestLivePageSendsTheScreen shares a tab with two stop signs, and stops sharing it as the bar of the browser does.
func TestLivePageSendsTheScreen(t *testing.T) {
	t.Parallel()
	s := ownService(t, "VQA_STREAM_FIRST_FRAME=2m", "VQA_STREAM_ICE_TIMEOUT=2m", "VQA_STREAM_JOIN_TIMEOUT=3m", "VQA_STREAM_GRACE=1m")
	c := s.account(t, 600)
	minted := c.call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"streams:create", "streams:signal"}})
	require.Equal(t, http.StatusCreated, minted.status, "%s", minted.raw)
	b := visit(t, "http://"+s.addr+"/live", keepShare,
		"--auto-select-tab-capture-source-by-title=vqa-scene", "--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection")
	scene := tabOf(t, fixture.StopSign(image.Pt(140, 110), image.Pt(370, 110)))
	b.call("Target.createTarget", map[string]any{"url": scene})

	b.tab("token")
	b.typeText(minted.text("token"))
	b.eval(`document.querySelector("input[value=screen]").focus()`)
	b.press(" ", 32, " ")
	require.Equal(t, "screen", b.eval(`new FormData(document.getElementById("form")).get("source")`))
	b.tab("question")
	b.typeText("How many stop signs are there?")
	b.enter()
	b.await(`document.getElementById("answer").textContent === "2"`)
	b.await(`/^\d+ × \d+ at \d+ fps$/.test(document.getElementById("sent").textContent)`)
	b.picture("screen")
	b.eval(`(() => { const [track] = window.shared.getVideoTracks(); track.stop(); track.dispatchEvent(new Event("ended")); })()`)
	b.await(`document.body.dataset.phase === "ended"`)
	require.Equal(t, "The stream has ended.", b.text("outcome-title"))
	read := c.call(t, http.MethodGet, "/v1/streams", nil)
	require.Equal(t, "completed", read.text("data.0.end_reason"))
	require.Equal(t, 600-read.number("data.0.usage.billed_seconds"), c.credits(t).number("balance_seconds"))
	require.Empty(t, b.complaints)
}

// keepShare makes the shared screen visible to the test.
const keepShare = `
	const share = navigator.mediaDevices.getDisplayMedia.bind(navigator.mediaDevices);
	navigator.mediaDevices.getDisplayMedia = async (o) => (window.shared = await share(o));`

// tabOf returns the URL of a page with the title vqa-scene that shows a picture.
func tabOf(t *testing.T, picture image.Image) string {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, picture))
	source := "data:image/png;base64," + base64.StdEncoding.EncodeToString(file.Bytes())
	page := `<!doctype html><title>vqa-scene</title><style>body{margin:0}</style><img src="` + source + `" width="100%">`
	return "data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(page))
}
