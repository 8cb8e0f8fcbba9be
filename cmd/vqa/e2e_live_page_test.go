package main_test

import (
	"context"
	"fmt"
	"image"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/gpu/fixture"
)

// cameraClip shows two stop signs for 2 s.
var cameraClip = sync.OnceValues(func() (string, error) {
	return render("camera.mp4", repeat(fixture.StopSign(image.Pt(140, 110), image.Pt(370, 110)), 2*clipFPS))
})

// camera returns the flags of a browser whose camera shows a clip again and again.
func camera(t *testing.T, clip string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "camera.y4m")
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-i", clip, "-pix_fmt", "yuv420p", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return cameraFlags(path)
}

// cameraFlags returns the flags of a browser whose camera shows a file of raw pictures again and again.
func cameraFlags(path string) []string {
	return []string{
		"--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--use-file-for-fake-video-capture=" + path,
		"--disable-features=WebRtcHideLocalIpsWithMdns", "--allow-loopback-in-peer-connection",
	}
}

// TestLivePage uses the page /live like a person with a camera and a keyboard.
func TestLivePage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	// Other tests use the same cores, so a stream has more time than usual.
	s := ownService(t, "VQA_STREAM_FIRST_FRAME=2m", "VQA_STREAM_ICE_TIMEOUT=2m", "VQA_STREAM_JOIN_TIMEOUT=3m", "VQA_STREAM_GRACE=1m")
	const grant = 6000
	c := s.account(t, grant)
	between := newCable(t, s.addr)
	b := visit(t, "http://"+between.Addr().String()+"/live", keepPeers, camera(t, clip(t, cameraClip))...)

	b.tab("token")
	b.typeText(c.key.APIKey)
	b.tab("question")
	b.typeText("How many stop signs are there?")
	b.enter()
	require.Contains(t, b.text("token-error"), "This is an API key.")
	require.Equal(t, "idle", b.eval(`document.body.dataset.phase ?? "idle"`))

	minted := c.call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"streams:create", "streams:signal"}})
	require.Equal(t, http.StatusCreated, minted.status, "%s", minted.raw)
	require.Equal(t, "token", b.eval("document.activeElement.id"), "the focus is on the field with the problem")
	b.eval("document.activeElement.select()")
	b.typeText(minted.text("token"))
	b.enter()

	t.Run("counts what the camera shows", func(t *testing.T) {
		b.await(`document.getElementById("answer").textContent === "2"`)
		require.Equal(t, "live", b.eval("document.body.dataset.phase"))
		b.await(`(document.getElementById("objects").textContent.match(/stop sign/g) ?? []).length === 2`)
		b.await(`/^\d+ × \d+ at \d+ fps$/.test(document.getElementById("sent").textContent)`)
		require.True(t, b.eval(yellow).(float64) > 0, "the boxes are drawn")
		b.await(`/seconds$/.test(document.getElementById("credits").textContent)`)
		b.picture("live")
	})
	t.Run("comes back when its socket drops", func(t *testing.T) {
		between.cut()
		require.True(t, poll(browserTimeout, between.busy), "the page connects again")
		clock := b.text("clock")
		b.await(fmt.Sprintf(`document.getElementById("clock").textContent > %q`, clock))
		require.Equal(t, "live", b.eval("document.body.dataset.phase"))
		require.NotContains(t, b.text("trouble"), "lost")
	})
	t.Run("restarts ICE when the connection fails", func(t *testing.T) {
		user := b.eval(remoteUser)
		b.eval(failConnection)
		b.await(fmt.Sprintf(`%s !== %q`, remoteUser, user))
		clock := b.text("clock")
		b.await(fmt.Sprintf(`document.getElementById("clock").textContent > %q`, clock))
		require.Equal(t, "connected", b.eval("peers[0].connectionState"))
		require.EqualValues(t, 1, b.eval("peers.length"))
	})
	t.Run("changes the question", func(t *testing.T) {
		b.eval(`document.getElementById("question").focus()`)
		b.eval(`document.activeElement.select()`)
		b.typeText("Is there a dog?")
		b.enter()
		b.await(`document.getElementById("asked").textContent === "Is there a dog?"`)
		b.await(`document.getElementById("answer").textContent === "no"`)
		require.Zero(t, b.eval(yellow))
		b.picture("changed")
	})
	t.Run("says why a question has no answer", func(t *testing.T) {
		b.eval(`document.getElementById("question").select()`)
		b.typeText("Is the dog barking?")
		b.enter()
		b.await(`document.getElementById("why").textContent.startsWith("Sound is not assessed")`)
		require.Equal(t, "not certain", b.text("answer"))
		require.Contains(t, b.text("why"), "Nothing is billed")
		require.Equal(t, true, b.eval(`document.getElementById("test-mode").hidden`))
		b.picture("refused")
	})
	t.Run("ends and bills", func(t *testing.T) {
		b.tab("end")
		b.enter()
		b.await(`document.body.dataset.phase === "ended"`)
		b.picture("ended")
		require.Equal(t, "outcome", b.eval("document.activeElement.id"))
		require.Equal(t, "The stream has ended.", b.text("outcome-title"))
		ended := c.call(t, http.MethodGet, "/v1/streams", nil).at("data").([]any)
		require.Len(t, ended, 1)
		st := ended[0].(map[string]any)
		require.Equal(t, "completed", st["end_reason"])
		billed := st["usage"].(map[string]any)["billed_seconds"].(float64)
		require.Positive(t, billed)
		require.Equal(t, grant-billed, c.credits(t).number("balance_seconds"))
		require.Equal(t, fmt.Sprintf("%g", grant-billed), strings.NewReplacer(",", "", " seconds", "").Replace(b.text("credits")))
	})
	t.Run("sends a file until the page is closed", func(t *testing.T) {
		b.eval(`document.querySelector("input[value=file]").click()`)
		b.choose("file", clip(t, cameraClip))
		b.eval(`document.getElementById("question").value = "Is there a stop sign?"`)
		b.tab("start")
		b.enter()
		b.await(`document.getElementById("answer").textContent === "yes"`)
		b.await(`/^\d+ × \d+ at \d+ fps$/.test(document.getElementById("sent").textContent)`)
		b.picture("file")
		require.Empty(t, c.call(t, http.MethodGet, "/v1/streams?status=ended", nil).at("data").([]any)[1:])
		b.call("Page.navigate", map[string]any{"url": "about:blank"})
		c.await(t, "/v1/streams?status=ended", browserTimeout, func(a answer) bool { return len(a.at("data").([]any)) == 2 })
	})
	require.Empty(t, b.complaints, "the content security policy refused something, or a script failed")
}

// keepPeers makes the connections of the page visible to the test.
const keepPeers = `
	window.peers = [];
	window.RTCPeerConnection = class extends RTCPeerConnection {
		constructor(configuration) { super(configuration); window.peers.push(this); }
	};`

// failConnection reports a failure of a connection that works: a real one takes 30 s.
const failConnection = `(() => {
	Object.defineProperty(peers[0], "connectionState", { value: "failed", configurable: true });
	peers[0].dispatchEvent(new Event("connectionstatechange"));
	delete peers[0].connectionState;
})()`

// remoteUser is the name of the ICE session of the service. A restart changes it.
const remoteUser = `peers[0].remoteDescription.sdp.match(/ice-ufrag:(\S+)/)[1]`

// cable passes connections on to the service, and can cut them.
type cable struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &cable{Listener: listener}
	var passing sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut()
		passing.Wait()
	})
	passing.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { w.pass(from, to) })
		}
	})
	return w
}

// pass copies both ways until one of the connections ends.
func (w *cable) pass(from net.Conn, to string) {
	defer from.Close()
	target, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer target.Close()
	w.mu.Lock()
	w.conns = append(w.conns, from, target)
	w.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, target)
		_ = from.Close()
	})
	_, _ = io.Copy(target, from)
	_ = target.Close()
	back.Wait()
}

// busy reports whether there are connections.
func (w *cable) busy() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.conns) > 0 }

// cut ends the connections of this moment.
func (w *cable) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// yellow counts the pixels of the boxes.
const yellow = `(() => {
	const canvas = document.getElementById("boxes");
	const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
	let n = 0;
	for (let i = 0; i < data.length; i += 4) if (data[i] === 255 && data[i + 1] === 214 && data[i + 3] === 255) n++;
	return n;
})()`
