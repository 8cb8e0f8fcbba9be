package main_test

import (
	"context"
	"fmt"
	"image"
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
	b := visit(t, "http://"+s.addr+"/live", camera(t, clip(t, cameraClip))...)

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
		b.await(`document.getElementById("answer").textContent === "yes, 2 visible"`)
		require.Equal(t, "live", b.eval("document.body.dataset.phase"))
		require.Empty(t, b.text("trouble"))
		b.await(`(document.getElementById("objects").textContent.match(/stop sign/g) ?? []).length === 2`)
		b.await(`/^\d+ × \d+ at \d+ fps$/.test(document.getElementById("sent").textContent)`)
		require.True(t, b.eval(yellow).(float64) > 0, "the boxes are drawn")
		b.await(`/seconds$/.test(document.getElementById("credits").textContent)`)
		b.picture("live")
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
	require.Empty(t, b.complaints, "the content security policy refused something, or a script failed")
}

// yellow counts the pixels of the boxes.
const yellow = `(() => {
	const canvas = document.getElementById("boxes");
	const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
	let n = 0;
	for (let i = 0; i < data.length; i += 4) if (data[i] === 255 && data[i + 1] === 214 && data[i + 3] === 255) n++;
	return n;
})()`
