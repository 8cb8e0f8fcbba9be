package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/peer"
)

// The scene that the camera of TestChromiumThroughLoss shows, in pixels and pictures. It is repeated.
const (
	sceneWidth, sceneHeight = 640, 360
	scenePictures           = 64
	sceneTile               = 40
)

// scene returns the luma of a picture: a number in six bars at the top, and a textured disk on a gradient that moves.
func scene(number int) []byte {
	luma := make([]byte, sceneWidth*sceneHeight)
	angle := 2 * math.Pi * float64(number) / scenePictures
	x0, y0 := sceneWidth/2+200*math.Cos(angle), 200+90*math.Sin(angle)
	for y := range sceneHeight {
		for x := range sceneWidth {
			v := 40 + (x+y)/8 + 20*((x/40+y/40)%2)
			switch {
			case y < sceneTile && number>>(x*6/sceneWidth)&1 == 1:
				v = 220
			case y < sceneTile:
				v = 30
			case math.Hypot(float64(x)-x0, float64(y)-y0) < 60:
				v = 150 + 40*((x-int(x0)+200)/12%2)
			}
			luma[y*sceneWidth+x] = byte(v)
		}
	}
	return luma
}

// sceneNumber reads the number of a decoded picture.
func sceneNumber(luma []byte) (n int) {
	for i := range 6 {
		if luma[sceneTile/2*sceneWidth+(2*i+1)*sceneWidth/12] > 128 {
			n |= 1 << i
		}
	}
	return n
}

// worstTile returns the lowest PSNR of all tiles of 64x40 pixels, in dB.
func worstTile(got, want []byte) float64 {
	const width, height = 64, 40
	worst := math.Inf(1)
	for top := 0; top < sceneHeight; top += height {
		for left := 0; left < sceneWidth; left += width {
			sum := 0.0
			for y := top; y < top+height; y++ {
				for x := left; x < left+width; x++ {
					d := float64(got[y*sceneWidth+x]) - float64(want[y*sceneWidth+x])
					sum += d * d
				}
			}
			worst = min(worst, 10*math.Log10(255*255*width*height/max(sum, 1)))
		}
	}
	return worst
}

// lossyLink passes packets between one client and the service, and loses some in both directions.
type lossyLink struct {
	front, back net.PacketConn
	percent     atomic.Int64
	client      atomic.Pointer[net.Addr]
	dropped     atomic.Int64
	passing     sync.WaitGroup
}

func newLossyLink(t *testing.T, service netip.AddrPort) *lossyLink {
	t.Helper()
	l := &lossyLink{}
	var err error
	l.front, err = net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	l.back, err = net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = l.front.Close(), l.back.Close()
		l.passing.Wait()
	})
	to := net.UDPAddrFromAddrPort(service)
	l.passing.Go(func() {
		l.pass(l.front, 1, func(b []byte, from net.Addr) {
			l.client.Store(&from)
			_, _ = l.back.WriteTo(b, to)
		})
	})
	l.passing.Go(func() {
		l.pass(l.back, 2, func(b []byte, _ net.Addr) {
			if client := l.client.Load(); client != nil {
				_, _ = l.front.WriteTo(b, *client)
			}
		})
	})
	return l
}

func (l *lossyLink) pass(from net.PacketConn, seed uint64, on func([]byte, net.Addr)) {
	random, buffer := rand.New(rand.NewPCG(seed, 7)), make([]byte, 2048)
	for {
		n, source, err := from.ReadFrom(buffer)
		if err != nil {
			return
		}
		if random.Int64N(100) < l.percent.Load() {
			l.dropped.Add(1)
			continue
		}
		on(buffer[:n], source)
	}
}

// lossPage sends its camera to the service. The offer has no candidates, so all packets take the link.
const lossPage = `<!doctype html><title>loss</title><video id="view" muted></video><script>
	(async () => {
		const media = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 360, frameRate: 30 } });
		window.peer = new RTCPeerConnection();
		peer.addTransceiver(media.getVideoTracks()[0], { direction: "sendonly" });
		await peer.setLocalDescription(await peer.createOffer());
		const answer = await fetch("/offer", { method: "POST", body: peer.localDescription.sdp });
		await peer.setRemoteDescription({ type: "answer", sdp: await answer.text() });
	})();
</script>`

// lossLab is a browser that sends its camera over a link with loss, and the pictures that arrived whole.
type lossLab struct {
	link *lossyLink
	peer *peer.Peer
	page *browser

	mu       sync.Mutex
	pictures []assemble.Picture
}

func newLossLab(t *testing.T) *lossLab {
	t.Helper()
	lab := &lossLab{}
	server, err := peer.Listen(peer.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	lab.link = newLossyLink(t, server.Media())
	lab.peer, err = server.Open(peer.Session{ID: "st_1", H264Only: true, Picture: func(p assemble.Picture) {
		lab.mu.Lock()
		defer lab.mu.Unlock()
		lab.pictures = append(lab.pictures, p)
	}})
	require.NoError(t, err)
	t.Cleanup(lab.peer.Close)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, lossPage)
			return
		}
		offer, _ := io.ReadAll(r.Body)
		answer, err := lab.peer.Answer(r.Context(), regexp.MustCompile(`a=candidate:.*\r\n`).ReplaceAllString(string(offer), ""))
		if err != nil {
			t.Error(err)
			return
		}
		answer = regexp.MustCompile(`a=candidate:.* tcp .*\r\n`).ReplaceAllString(answer, "")
		_, port, _ := net.SplitHostPort(lab.link.front.LocalAddr().String())
		_, _ = io.WriteString(w, strings.ReplaceAll(answer, fmt.Sprintf(" %d typ", server.Media().Port()), " "+port+" typ"))
	}))
	t.Cleanup(site.Close)
	lab.page = visit(t, site.URL, "", sceneCamera(t)...)
	return lab
}

// sceneCamera returns the flags of a browser whose camera shows the scene.
func sceneCamera(t *testing.T) []string {
	t.Helper()
	var file bytes.Buffer
	fmt.Fprintf(&file, "YUV4MPEG2 W%d H%d F30:1 Ip A1:1 C420jpeg\n", sceneWidth, sceneHeight)
	for i := range scenePictures {
		file.WriteString("FRAME\n")
		file.Write(scene(i))
		file.Write(bytes.Repeat([]byte{128}, sceneWidth*sceneHeight/2))
	}
	path := filepath.Join(t.TempDir(), "scene.y4m")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	return cameraFlags(path)
}

// during returns the pictures that arrive whole during a time with loss.
func (lab *lossLab) during(percent int64, d time.Duration) (first, n int) {
	lab.link.percent.Store(percent)
	lab.mu.Lock()
	first = len(lab.pictures)
	lab.mu.Unlock()
	time.Sleep(d)
	lab.mu.Lock()
	defer lab.mu.Unlock()
	return first, len(lab.pictures) - first
}

// quality decodes all pictures and returns the PSNR of the worst tile of each, in dB.
func (lab *lossLab) quality(t *testing.T) []float64 {
	t.Helper()
	lab.peer.Close()
	var sent bytes.Buffer
	for _, p := range lab.pictures {
		sent.Write(p.Data)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-threads", "1", "-f", "h264", "-i", "-", "-vf",
		fmt.Sprintf("scale=%d:%d:flags=bicubic,format=gray", sceneWidth, sceneHeight), "-fps_mode", "passthrough", "-f", "rawvideo", "-")
	cmd.Stdin, cmd.Stderr = &sent, os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var all []float64
	for picture := make([]byte, sceneWidth*sceneHeight); ; {
		if _, err := io.ReadFull(out, picture); err != nil {
			break
		}
		all = append(all, worstTile(picture, scene(sceneNumber(picture))))
	}
	require.NoError(t, cmd.Wait())
	require.Len(t, all, len(lab.pictures), "each picture can be decoded")
	return all
}

// TestChromiumThroughLoss sends a camera of Chromium over a link that loses packets in both directions.
func TestChromiumThroughLoss(t *testing.T) { //nolint:paralleltest // it measures the rate of pictures
	if *longStream == 0 {
		t.Skip("make streams runs it")
	}
	lab := newLossLab(t)
	require.True(t, poll(browserTimeout, func() bool { _, n := lab.during(0, time.Second); return n >= 25 }), "the camera does not send")
	type phase struct {
		percent  int64
		first, n int
	}
	const length = 10 * time.Second
	var phases []phase
	for _, percent := range []int64{0, 10, 30, 0} {
		if percent == 0 && len(phases) > 0 {
			lab.during(0, 3*time.Second) // it recovers
		}
		first, n := lab.during(percent, length)
		phases = append(phases, phase{percent, first, n})
	}
	media := lab.peer.Diagnostics().Media
	psnr := lab.quality(t)
	rate := make([]float64, len(phases))
	worst := make([]float64, len(phases))
	for i, p := range phases {
		rate[i], worst[i] = float64(p.n)/length.Seconds(), math.Inf(1)
		for _, v := range psnr[p.first : p.first+p.n] {
			worst[i] = min(worst[i], v)
		}
		t.Logf("%d %% loss: %.1f pictures/s whole, worst tile %.1f dB, width %d", p.percent, rate[i], worst[i], lab.pictures[p.first].Width)
	}
	t.Logf("%d packets dropped; %+v", lab.link.dropped.Load(), media)
	// A busy machine encodes fewer pictures, with and without loss.
	least := min(25, rate[0]*25/30)
	require.GreaterOrEqual(t, rate[1], least, "10 %% loss")
	require.Positive(t, phases[2].n, "30 %% loss")
	require.GreaterOrEqual(t, rate[3], least, "after 30 %% loss")
	for i := range phases {
		require.Greater(t, worst[i], worst[0]-6, "a tile is damaged at %d %%", phases[i].percent)
	}
}
