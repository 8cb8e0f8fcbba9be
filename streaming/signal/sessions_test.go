package signal_test

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/domain/stream"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/streaming/live"
	"vqa/streaming/message"
	"vqa/streaming/peer"
	"vqa/streaming/signal"
)

var sessions = flag.Int("signal.sessions", 60, "streams of TestSessionsComeAndGo")

// ledgers are the logs of many streams.
type ledgers struct{ sync.Map }

// Record implements live.Log.
func (l *ledgers) Record(ctx context.Context, id string, c stream.Command) (stream.State, live.Funds, error) {
	one, _ := l.Load(id)
	return one.(*ledger).Record(ctx, id, c)
}

// TestSessionsComeAndGo opens real sessions, whose clients negotiate and then end their streams or drop the
// socket. Nothing is left: no goroutine, no file, no peer, no stream without its end. It does not run beside
// others.
func TestSessionsComeAndGo(t *testing.T) { //nolint:paralleltest // it counts all goroutines
	peers, err := peer.Listen(peer.Options{Address: netip.MustParseAddrPort("127.0.0.1:0")})
	require.NoError(t, err)
	defer func() { require.NoError(t, peers.Close()) }()
	logs := &ledgers{}
	host := live.NewHost(live.Options{
		Peers: live.WebRTC(peers), Engine: eye{}, Log: logs, FFmpeg: ffmpegtest.Runner(t),
		Windows: stream.Windows{Join: patience, ICE: patience, FirstFrame: patience},
		Compile: func(_ context.Context, _ bool, prompt string) (query.Query, stream.ParseMode, error) {
			return english.Compile(prompt), stream.ParseHeuristic, nil
		},
		Canned: func(query.Query) stream.Result { return stream.Result{} },
	})
	defer func() { require.NoError(t, host.Close(context.WithoutCancel(t.Context()))) }()
	n := newNode(t, nil)
	cam := newCamera(t)
	offer, err := message.Encode(message.Offer{SDP: cam.offer(false)})
	require.NoError(t, err)
	require.NoError(t, cam.pc.Close())
	one := func(i int) {
		id := fmt.Sprintf("st_%d", i)
		log := newLedger(t, id)
		logs.Store(id, log)
		s, err := host.Open(log.read())
		require.NoError(t, err)
		n.streams.put(id, signal.Place{Session: signal.Live(s), Ready: ready()})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		conn, _, err := websocket.Dial(ctx, n.http.URL+"/v1/streams/"+id+"/signal", nil) //nolint:bodyclose // the library closes it
		require.NoError(t, err)
		conn.SetReadLimit(message.MaxOffer)
		for _, text := range []string{`{"type":"join"}`, string(offer)} {
			require.NoError(t, conn.Write(ctx, websocket.MessageText, []byte(text)))
			_, _, err := conn.Read(ctx)
			require.NoError(t, err)
		}
		if i%2 == 0 {
			require.NoError(t, conn.Write(ctx, websocket.MessageText, []byte(`{"type":"end"}`)))
			_, _, err := conn.Read(ctx)
			require.NoError(t, err)
		}
		_ = conn.CloseNow()
		require.NoError(t, s.End(ctx))
		require.Equal(t, stream.Canceled, log.read().Reason)
		require.Zero(t, log.read().Usage.BilledSeconds)
		n.streams.put(id, signal.Place{Ended: stream.Canceled})
	}
	settled := func() (goroutines, files int) {
		runtime.GC()
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return runtime.NumGoroutine(), len(list)
	}
	for i := range 4 {
		one(i)
	}
	before, files := settled()
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := 4 + w; i < *sessions; i += 4 {
				one(i)
			}
		})
	}
	workers.Wait()
	require.Empty(t, host.Sessions())
	wait(t, "nothing is left behind", func() bool { g, f := settled(); return g <= before+2 && f <= files+2 })
}
