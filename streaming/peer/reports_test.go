package peer_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

// TestFloodsOfReports has a client that sends RTCP without end: requests for packets that the service never sent, for
// keyframes, and reports. Another client does not notice. The service answers nothing and keeps little.
func TestFloodsOfReports(t *testing.T) { //nolint:paralleltest // it measures memory and time
	s := listen(t, peer.Options{})
	fast, c := newSink(), newClient(t, clientOptions{})
	c.join(t, open(t, s, fast.session("st_fast")))
	fast.waitState(t, peer.Connected)
	stop := c.streaming(t)
	fast.waitFrames(t, 10)

	got, hostile := newSink(), newClient(t, clientOptions{})
	p := open(t, s, got.session("st_flood"))
	hostile.join(t, p)
	got.waitState(t, peer.Connected)
	streaming := hostile.streaming(t)
	got.waitFrames(t, 10)
	streaming()
	ssrc := uint32(hostile.pc.GetSenders()[0].GetParameters().Encodings[0].SSRC)
	var pairs []rtcp.NackPair
	for id := range uint16(200) {
		pairs = append(pairs, rtcp.NackPair{PacketID: 17 * id, LostPackets: 0xffff})
	}
	var all []rtcp.ReceptionReport
	for range 31 {
		all = append(all, rtcp.ReceptionReport{SSRC: ssrc, FractionLost: 255, TotalLost: 1 << 20, Delay: 1})
	}
	flood := map[string][]rtcp.Packet{
		"NACK":   {&rtcp.TransportLayerNack{SenderSSRC: ssrc, MediaSSRC: ssrc, Nacks: pairs}},
		"PLI":    {&rtcp.PictureLossIndication{SenderSSRC: ssrc, MediaSSRC: ssrc}},
		"FIR":    {&rtcp.FullIntraRequest{SenderSSRC: ssrc, MediaSSRC: ssrc, FIR: []rtcp.FIREntry{{SSRC: ssrc}}}},
		"report": {&rtcp.SenderReport{SSRC: ssrc, NTPTime: 1, Reports: all}, &rtcp.ReceiverReport{SSRC: ssrc, Reports: all}},
	}
	before, goroutines := memory(), runtime.NumGoroutine()
	const each = 20_000
	for name, packets := range flood {
		began := cpuTime(t)
		gap := fast.longestGap(func() {
			for range each {
				if err := hostile.pc.WriteRTCP(packets); err != nil {
					return // it was cut off
				}
			}
		})
		cost := (cpuTime(t) - began) / each
		t.Logf("%s: longest time between two pictures of the other client %v; %v of processor time for each on both sides", name, gap, cost)
		require.Less(t, gap, 2*time.Second, name)
		require.Less(t, cost, 500*time.Microsecond, name)
	}
	require.Less(t, memory(), before+20<<20)
	require.Less(t, runtime.NumGoroutine(), goroutines+10)
	require.Equal(t, peer.Connected, p.State(), "a client that reports too much is served")
	got.mu.Lock()
	frames := len(got.frames)
	got.mu.Unlock()
	streaming = hostile.streaming(t)
	got.waitFrames(t, frames+30)
	streaming()
	stop()
	fast.mu.Lock()
	defer fast.mu.Unlock()
	c.check(t, fast.frames)
}

// TestJumpsOfTheSequence has a client that seems to lose hundreds of packets before each one. The service requests
// fewer packets than the client sends.
func TestJumpsOfTheSequence(t *testing.T) { //nolint:paralleltest // it measures memory
	s, got, hostile := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{})
	p := open(t, s, got.session("st_1"))
	hostile.join(t, p)
	got.waitState(t, peer.Connected)
	loud := &anySource{TrackLocalStaticRTP: hostile.track}
	require.NoError(t, hostile.pc.GetSenders()[0].ReplaceTrack(loud))
	before := memory()
	ssrc := uint32(hostile.pc.GetSenders()[0].GetParameters().Encodings[0].SSRC)
	payload := make([]byte, 100)
	for i := range 20_000 {
		header := &rtp.Header{Version: 2, PayloadType: 96, SSRC: ssrc, SequenceNumber: uint16(i * 997), Timestamp: uint32(i)}
		_, err := loud.writer.WriteRTP(header, payload)
		require.NoError(t, err)
		if i%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(time.Second)
	counts := p.Diagnostics().Media
	t.Logf("%+v", counts)
	require.Positive(t, counts.Packets)
	require.Less(t, counts.Requests, counts.Packets, "requested packets")
	require.Less(t, memory(), before+20<<20)
}
