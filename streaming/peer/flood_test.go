package peer_test

import (
	"net"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/stun/v4"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

// TestManySources sends packets of very many SSRCs, which encryption allows. The client is cut off, and nothing is left.
func TestManySources(t *testing.T) { //nolint:paralleltest // it measures memory
	s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{})
	p := open(t, s, got.session("st_1"))
	c.join(t, p)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	got.waitFrames(t, 10)
	stop()
	before := memory()
	loud := &anySource{TrackLocalStaticRTP: c.track}
	require.NoError(t, c.pc.GetSenders()[0].ReplaceTrack(loud))
	payload := make([]byte, 1000)
	for ssrc := range uint32(20_000) {
		header := &rtp.Header{Version: 2, PayloadType: 96, SSRC: 0x10000 + ssrc, SequenceNumber: 1}
		if _, err := loud.writer.WriteRTP(header, payload); err != nil {
			break
		}
		if ssrc%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	got.waitState(t, peer.Closed)
	require.Less(t, memory(), before+20<<20)
}

// TestFloods sends packets of strangers to the media port, over UDP and TCP, while a client sends its video.
// The video goes on, and nothing is left of the packets.
func TestFloods(t *testing.T) { //nolint:paralleltest // it measures memory, and counts goroutines
	s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{})
	p := open(t, s, got.session("st_1"))
	c.join(t, p)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	got.waitFrames(t, 10)
	memoryBefore, goroutines := memory(), runtime.NumGoroutine()
	ufrag := regexp.MustCompile(`a=ice-ufrag:(\S+)`).FindStringSubmatch(c.pc.RemoteDescription().SDP)[1]
	request := func(user string, options ...stun.Setter) []byte {
		m, err := stun.Build(append([]stun.Setter{stun.TransactionID, stun.BindingRequest, stun.NewUsername(user)}, options...)...)
		require.NoError(t, err)
		return m.Raw
	}
	packets := [][]byte{
		request("nobody:nobody"),
		request(ufrag + ":guess"), // the name is right, and the signature is missing or wrong
		request(ufrag+":guess", stun.NewShortTermIntegrity("guess"), stun.Fingerprint),
		append([]byte{22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200, 1}, make([]byte, 199)...), // a greeting of DTLS
		append([]byte{0x80, 96, 0, 1}, make([]byte, 1000)...),                                 // RTP
		append([]byte{0x80, 206, 0, 1}, make([]byte, 100)...),                                 // RTCP
		make([]byte, 1400), {}, {0},
	}
	for range 200 {
		stranger, err := net.Dial("udp4", s.Media().String())
		require.NoError(t, err)
		for range 5 {
			for _, packet := range packets {
				_, _ = stranger.Write(packet)
			}
		}
		require.NoError(t, stranger.Close())
	}
	got.mu.Lock()
	before := len(got.frames)
	got.mu.Unlock()
	got.waitFrames(t, before+30)
	require.Equal(t, peer.Connected, p.State())

	// Connections that send nothing, half of a packet, or too much.
	var open []net.Conn
	closed := 0
	for i := range 400 {
		stranger, err := net.Dial("tcp4", s.Media().String())
		if err != nil {
			closed++
			continue
		}
		open = append(open, stranger)
		_, _ = stranger.Write([][]byte{nil, {0}, {0, 100, 0}, append([]byte{0, 200}, request("nobody:nobody")...), make([]byte, 4000)}[i%5])
	}
	got.mu.Lock()
	before = len(got.frames)
	got.mu.Unlock()
	got.waitFrames(t, before+30)
	require.Less(t, runtime.NumGoroutine(), goroutines+256+20, "connections of strangers are bounded")
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+20 }, patience, 20*time.Millisecond, "they must greet in time")
	for _, stranger := range open {
		_ = stranger.Close()
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+5 }, patience, 20*time.Millisecond)
	stop()
	require.Less(t, memory(), memoryBefore+20<<20)
	got.mu.Lock()
	defer got.mu.Unlock()
	c.check(t, got.frames)
}

// anySource is a track that can write packets of any SSRC.
type anySource struct {
	*webrtc.TrackLocalStaticRTP
	writer webrtc.TrackLocalWriter
}

// Bind implements webrtc.TrackLocal.
func (a *anySource) Bind(c webrtc.TrackLocalContext) (webrtc.RTPCodecParameters, error) {
	a.writer = c.WriteStream()
	return a.TrackLocalStaticRTP.Bind(c)
}

// memory returns the bytes of the heap that are in use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}
