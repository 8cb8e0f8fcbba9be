package camera_test

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/camera"
	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// networkCamera is a camera that speaks RTSP (RFC 2326) with the packets in the same connection. It sends the pictures
// once and ends.
type networkCamera struct {
	net.Listener
	pictures [][]byte
}

func newNetworkCamera(t testing.TB) *networkCamera {
	t.Helper()
	p, err := camera.Open(t.Context(), ffmpegtest.Runner(t), clip(t, 30), false)
	require.NoError(t, err)
	c := &networkCamera{}
	for {
		picture, err := p.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		c.pictures = append(c.pictures, picture)
	}
	require.NoError(t, p.Close())
	c.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				return
			}
			go c.serve(conn)
		}
	}()
	return c
}

func (c *networkCamera) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		request, err := in.ReadString('\n')
		if err != nil {
			return
		}
		sequence := ""
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			if key, value, _ := strings.Cut(line, ":"); strings.EqualFold(key, "CSeq") {
				sequence = strings.TrimSpace(value)
			}
		}
		head, body := "Session: 1\r\n", ""
		method, _, _ := strings.Cut(request, " ")
		switch method {
		case "OPTIONS":
			head = "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN\r\n"
		case "DESCRIBE":
			var sets []string
			for _, unit := range strings.Split(string(c.pictures[0]), "\x00\x00\x01") {
				if len(unit) > 0 && (unit[0]&0x1f == 7 || unit[0]&0x1f == 8) {
					sets = append(sets, base64.StdEncoding.EncodeToString([]byte(strings.TrimRight(unit, "\x00"))))
				}
			}
			body = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=camera\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n" +
				"a=fmtp:96 packetization-mode=1;sprop-parameter-sets=" + strings.Join(sets, ",") + "\r\na=control:track\r\n"
			head = "Content-Type: application/sdp\r\n"
		case "SETUP":
			head += "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n"
		}
		_, _ = fmt.Fprintf(conn, "RTSP/1.0 200 OK\r\nCSeq: %s\r\n%sContent-Length: %d\r\n\r\n%s", sequence, head, len(body), body)
		if method == "PLAY" {
			c.play(conn)
			return
		}
	}
}

// play sends the pictures at 30 per second.
func (c *networkCamera) play(conn net.Conn) {
	packets := rtp.NewPacketizer(1400, 96, 1, &codecs.H264Payloader{}, rtp.NewFixedSequencer(1), 90_000)
	for _, picture := range c.pictures {
		for _, p := range packets.Packetize(picture, 3000) {
			raw, err := p.Marshal()
			if err != nil {
				return
			}
			frame := append([]byte{'$', 0, byte(len(raw) >> 8), byte(len(raw))}, raw...)
			if _, err := conn.Write(frame); err != nil {
				return
			}
		}
		time.Sleep(time.Second / 30)
	}
}

func TestSendsANetworkCamera(t *testing.T) {
	t.Parallel()
	c := newNetworkCamera(t)
	s := newService(t)
	out := run(t.Context(), t, s, func(o *camera.Options) { o.Source = "rtsp://" + c.Addr().String() + "/stream" })
	require.NoError(t, out.err)
	require.Equal(t, stream.Completed, out.reason)
	require.Greater(t, len(s.pictures), 30)
	require.Equal(t, 160, s.pictures[0].Width)
}
