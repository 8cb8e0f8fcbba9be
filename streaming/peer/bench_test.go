package peer_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/peer"
)

const (
	// senderVariable starts the test binary as a sender of that many sessions.
	senderVariable = "PEER_TEST_SENDER"
	// benchSessions is the number of sessions of a measurement.
	benchSessions = 20
	// benchTime is the time of a measurement.
	benchTime = 3 * time.Second
)

func TestMain(m *testing.M) {
	if os.Getenv(senderVariable) != "" {
		testing.Benchmark(sendForBenchmark)
		return
	}
	os.Exit(m.Run())
}

// sendForBenchmark connects sessions over the standard streams, one offer and answer after the other, and sends
// until its input ends. It runs in a process of its own, so that the receiver's time can be measured.
func sendForBenchmark(b *testing.B) {
	lines := bufio.NewReader(os.Stdin)
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	for range benchSessions {
		c := newClient(b, clientOptions{})
		offer, err := json.Marshal(c.offer(b, nil))
		require.NoError(b, err)
		fmt.Println(string(offer))
		line, err := lines.ReadString('\n')
		require.NoError(b, err)
		var answer string
		require.NoError(b, json.Unmarshal([]byte(line), &answer))
		c.accept(b, answer)
		sending.Go(func() { c.stream(ctx) })
	}
	_, _ = io.Copy(io.Discard, lines)
	cancel()
	sending.Wait()
}

// measure returns the CPU time for a packet of a receiver that answers offers and counts packets.
func measure(b *testing.B, answer func(offer string) string, packets func() int64) time.Duration {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.benchtime=1x")
	cmd.Env = append(os.Environ(), senderVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	lines := bufio.NewReader(out)
	for range benchSessions {
		line, err := lines.ReadString('\n')
		require.NoError(b, err)
		var offer string
		require.NoError(b, json.Unmarshal([]byte(line), &offer))
		text, err := json.Marshal(answer(offer))
		require.NoError(b, err)
		_, err = in.Write(append(text, '\n'))
		require.NoError(b, err)
	}
	time.Sleep(time.Second) // until all sessions send
	cpu, n := cpuTime(b), packets()
	time.Sleep(benchTime)
	cpu, n = cpuTime(b)-cpu, packets()-n
	require.NoError(b, in.Close())
	require.NoError(b, cmd.Wait())
	require.Greater(b, n, int64(benchSessions*30))
	return cpu / time.Duration(n)
}

// cpuTime returns the CPU time of this process.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// plainReceiver returns a receiver of pion as it comes, which discards the packets.
func plainReceiver(b *testing.B) (answer func(offer string) string, packets func() int64, closing func()) {
	b.Helper()
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(b, err)
	settings := webrtc.SettingEngine{LoggerFactory: silent}
	settings.SetIncludeLoopbackCandidate(true)
	settings.SetICEUDPMux(webrtc.NewICEUDPMux(silent.NewLogger("ice"), udp))
	engine, registry := &webrtc.MediaEngine{}, &interceptor.Registry{}
	require.NoError(b, engine.RegisterDefaultCodecs())
	require.NoError(b, webrtc.RegisterDefaultInterceptors(engine, registry))
	api := webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry))
	var count atomic.Int64
	var open []*webrtc.PeerConnection
	answer = func(offer string) string {
		pc, err := api.NewPeerConnection(webrtc.Configuration{})
		require.NoError(b, err)
		open = append(open, pc)
		pc.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
			for buffer := make([]byte, 1500); ; count.Add(1) {
				if _, _, err := track.Read(buffer); err != nil {
					return
				}
			}
		})
		require.NoError(b, pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}))
		gathered := webrtc.GatheringCompletePromise(pc)
		description, err := pc.CreateAnswer(nil)
		require.NoError(b, err)
		require.NoError(b, pc.SetLocalDescription(description))
		<-gathered
		return pc.LocalDescription().SDP
	}
	return answer, count.Load, func() {
		for _, pc := range open {
			_ = pc.Close()
		}
		_ = udp.Close()
	}
}

// BenchmarkReceive compares a plain receiver of pion with this package, which also assembles pictures: 20 sessions of 30
// pictures per second from another process. The ratio is the CPU time for a packet, plain to ours. An
// iteration takes 10 s.
func BenchmarkReceive(b *testing.B) {
	var plain, ours time.Duration
	for range b.N {
		answer, packets, closing := plainReceiver(b)
		plain += measure(b, answer, packets)
		closing()

		s := listen(b, peer.Options{})
		var open []*peer.Peer
		ours += measure(b, func(offer string) string {
			p, err := s.Open(peer.Session{ID: fmt.Sprint(len(open)), Picture: func(assemble.Picture) {}})
			require.NoError(b, err)
			open = append(open, p)
			text, err := p.Answer(b.Context(), offer)
			require.NoError(b, err)
			return text
		}, func() (n int64) {
			for _, p := range open {
				n += p.Diagnostics().Media.Packets
			}
			return n
		})
		require.NoError(b, s.Close())
	}
	b.ReportMetric(float64(plain)/float64(ours), "ratio")
	b.ReportMetric(float64(plain.Nanoseconds())/float64(b.N)/1000, "plain_µs/packet")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N)/1000, "ours_µs/packet")
}
