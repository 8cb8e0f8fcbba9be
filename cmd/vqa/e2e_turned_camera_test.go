package main_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// turnedCamera lets the camera deliver its pictures turned by window.turned degrees, with the rotation that makes
// them upright, as the camera of a turned phone does. It keeps the latest result.
const turnedCamera = `
	window.turned = 0;
	const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
	navigator.mediaDevices.getUserMedia = async (wanted) => {
		const [track] = (await open(wanted)).getVideoTracks();
		const turning = new TransformStream({ transform(frame, out) {
			const { displayWidth: w, displayHeight: h, timestamp } = frame;
			const side = window.turned % 180 ? [h, w] : [w, h];
			const canvas = new OffscreenCanvas(...side), pen = canvas.getContext("2d");
			pen.translate(side[0] / 2, side[1] / 2);
			pen.rotate(-window.turned * Math.PI / 180);
			pen.drawImage(frame, -w / 2, -h / 2);
			frame.close();
			out.enqueue(new VideoFrame(canvas, { timestamp, rotation: window.turned }));
		} });
		const generator = new MediaStreamTrackGenerator({ kind: "video" });
		new MediaStreamTrackProcessor({ track }).readable.pipeThrough(turning).pipeTo(generator.writable);
		return new MediaStream([generator]);
	};
	window.WebSocket = class extends WebSocket {
		constructor(...all) {
			super(...all);
			this.addEventListener("message", ({ data }) => {
				const message = JSON.parse(data);
				if (message.type === "result") window.result = message;
			});
		}
	};`

// TestATurnedCamera turns the camera of Chromium while it sends two signs side by side. They stay side by side.
func TestATurnedCamera(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("there is no chromium on this machine")
	}
	s := ownService(t, "VQA_STREAM_FIRST_FRAME=2m", "VQA_STREAM_ICE_TIMEOUT=2m", "VQA_STREAM_JOIN_TIMEOUT=3m")
	minted := s.account(t, 6000).call(t, http.MethodPost, "/v1/client_tokens", map[string]any{"scopes": []string{"streams:create", "streams:signal"}})
	require.Equal(t, http.StatusCreated, minted.status, "%s", minted.raw)
	b := visit(t, "http://"+s.addr+"/live", turnedCamera, camera(t, clip(t, cameraClip))...)
	b.tab("token")
	b.typeText(minted.text("token"))
	b.tab("question")
	b.typeText("How many stop signs are there?")
	b.enter()
	const upright = `(([a, b]) => b && Math.abs(a.box[0] - b.box[0]) > .2 && Math.abs(a.box[1] - b.box[1]) < .1)(window.result?.detections ?? [])`
	b.await(upright)
	for _, turned := range []int{90, 270} {
		seq := b.eval(fmt.Sprintf(`window.turned = %d, window.result.seq`, turned)).(float64)
		b.await(fmt.Sprintf(`window.result.seq > %g && %s`, seq+10, upright))
		b.picture(fmt.Sprint("turned-", turned))
	}
	require.Empty(t, b.complaints)
}
