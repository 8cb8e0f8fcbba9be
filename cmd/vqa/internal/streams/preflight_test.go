package streams

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/handlers/httpapi"
)

// caller returns a client with one video track, and its complete offer.
func caller(t *testing.T) (*webrtc.PeerConnection, string) {
	t.Helper()
	var settings webrtc.SettingEngine
	settings.SetIncludeLoopbackCandidate(true)
	engine := &webrtc.MediaEngine{}
	require.NoError(t, engine.RegisterDefaultCodecs())
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(settings), webrtc.WithMediaEngine(engine)).NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pc.Close() })
	track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264}, "video", "camera")
	require.NoError(t, err)
	_, err = pc.AddTrack(track)
	require.NoError(t, err)
	offer, err := pc.CreateOffer(nil)
	require.NoError(t, err)
	gathered := webrtc.GatheringCompletePromise(pc)
	require.NoError(t, pc.SetLocalDescription(offer))
	<-gathered
	return pc, pc.LocalDescription().SDP
}

// TestPreflight tests a connection that works, without a stream and without credits, and leaves nothing.
func TestPreflight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, stop, _ := w.node("a", 0)
	require.Eventually(t, func() bool { return n.current() != nil }, patience, 10*time.Millisecond)
	do := func(s httpapi.PreflightStep) (httpapi.Preflight, error) {
		state, node, err := n.Preflight(t.Context(), "acct_1", s)
		require.Empty(t, node)
		return state, err
	}
	refused := func(code fault.Code, s httpapi.PreflightStep) {
		t.Helper()
		_, err := do(s)
		require.True(t, fault.Has(err, code), "%v", err)
	}
	started, err := do(httpapi.PreflightStep{})
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(preflightLife), started.ExpiresAt, 2*time.Second)
	refused(fault.ResourceConflict, httpapi.PreflightStep{ID: started.ID, Candidates: []httpapi.ICECandidate{{Candidate: "x"}}})
	refused(fault.ValidationFailed, httpapi.PreflightStep{ID: started.ID, Offer: "v=0"})
	refused(fault.ValidationFailed, httpapi.PreflightStep{ID: started.ID, Offer: strings.Repeat("a=\r\n", 20_000)})

	pc, offer := caller(t)
	answered, err := do(httpapi.PreflightStep{ID: started.ID, Offer: offer, Transport: "udp"})
	require.NoError(t, err)
	require.NotContains(t, answered.Answer, " tcp ")
	refused(fault.ResourceConflict, httpapi.PreflightStep{ID: started.ID, Offer: offer})
	require.NoError(t, pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answered.Answer}))
	done, err := do(httpapi.PreflightStep{ID: started.ID})
	require.NoError(t, err)
	require.True(t, done.Report.Connected, "%+v", done.Report)
	require.Equal(t, []bool{true, false, false}, []bool{done.Report.UDP, done.Report.TCP, done.Report.Relay})
	require.Positive(t, done.Report.Took)
	require.Empty(t, done.Report.Hint)
	again, err := do(httpapi.PreflightStep{ID: started.ID})
	require.NoError(t, err)
	require.Equal(t, done.Report, again.Report, "a lost response can be read again")

	for _, foreign := range []string{"x", "~", started.ID + "x", "A" + started.ID} {
		refused(fault.ResourceNotFound, httpapi.PreflightStep{ID: foreign})
	}
	_, _, err = n.Preflight(t.Context(), "acct_2", httpapi.PreflightStep{ID: started.ID})
	require.True(t, fault.Has(err, fault.ResourceNotFound), "the id is bound to its account")
	n.Now = func() time.Time { return started.ExpiresAt }
	refused(fault.ResourceNotFound, httpapi.PreflightStep{ID: started.ID})
	n.Now = time.Now

	require.NoError(t, pc.Close())
	goroutines := runtime.NumGoroutine()
	require.NoError(t, n.Close(t.Context()))
	require.Empty(t, n.preflights.tests)
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	stop()
}

// TestTestModeGetsNoLastingCredentials: clients with a test key get only credentials that expire, for streams of this
// node and of others, and for preflights.
func TestTestModeGetsNoLastingCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, _, _ := w.node("a", 0)
	require.Eventually(t, func() bool { return n.current() != nil }, patience, 10*time.Millisecond)
	for livemode, want := range map[bool]string{true: `^stun:a turn:static,jo,password turn:expires,\d+:`, false: `^stun:a turn:expires,\d+:`} {
		test, _, err := n.Preflight(t.Context(), "acct_1", httpapi.PreflightStep{Livemode: livemode})
		require.NoError(t, err)
		st := stream.State{AccountID: "acct_1", Livemode: livemode, Node: n.current().lease.Incarnation()}
		own := n.ICEServers(t.Context(), st)
		st.Node = "another"
		for _, servers := range [][]httpapi.ICEServer{test.ICEServers, own, n.ICEServers(t.Context(), st)} {
			var all []string
			for _, s := range servers {
				if all = append(all, s.URLs[0]); s.Credential != nil {
					all[len(all)-1] += "," + *s.Username + "," + *s.Credential
				}
			}
			require.Regexp(t, want, strings.Join(all, " "))
			require.NotContains(t, strings.Join(all, " "), "shared")
		}
	}
}

// TestPreflightsAreBounded: an account has few tests at once, and one that fails says why.
func TestPreflightsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, _, _ := w.node("a", 0)
	require.Eventually(t, func() bool { return n.current() != nil }, patience, 10*time.Millisecond)
	start := func(account string) (string, error) {
		started, _, err := n.Preflight(t.Context(), account, httpapi.PreflightStep{})
		require.NoError(t, err)
		_, offer := caller(t)
		_, _, err = n.Preflight(t.Context(), account, httpapi.PreflightStep{ID: started.ID, Offer: offer})
		return started.ID, err
	}
	var first string
	for i := range preflightsEach {
		id, err := start("acct_1")
		require.NoError(t, err)
		if i == 0 {
			first = id
		}
	}
	_, err := start("acct_1")
	require.True(t, fault.Has(err, fault.ConcurrencyLimitExceeded), "%v", err)
	_, err = start("acct_2")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	failed, _, err := n.Preflight(ctx, "acct_1", httpapi.PreflightStep{ID: first})
	require.NoError(t, err)
	require.False(t, failed.Report.Connected)
	require.NotEmpty(t, failed.Report.Hint)
	require.NotEmpty(t, failed.Report.LocalCandidates)
	_, err = start("acct_1")
	require.NoError(t, err, "the tests before are over")
	require.NoError(t, n.Close(t.Context()))
}
