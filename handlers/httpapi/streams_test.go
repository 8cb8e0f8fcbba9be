package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/fault"
	"vqa/domain/query"
	"vqa/domain/stream"
	"vqa/handlers/command"
	"vqa/handlers/httpapi"
	"vqa/projections/resources"
)

// liveNode is the live part of streams without media: it grants slots and says what reached it.
type liveNode struct {
	service *command.Service
	read    *resources.Reader
	slots   atomic.Int64
	// refused is the error of every request of a client, or nil.
	refused error
	// step is the latest one of a preflight.
	step httpapi.PreflightStep
	// reached is called with each request for Events. It may be nil.
	reached func(*http.Request)
	// endless makes Events last until its request ends.
	endless bool
}

var streamWindows = stream.Windows{Join: time.Minute, ICE: 30 * time.Second, FirstFrame: 15 * time.Second}

func (n *liveNode) Fill(ctx context.Context) {
	active, err := n.read.ActiveStreams(ctx)
	for _, st := range active {
		if err == nil && st.Status == stream.Queued && n.slots.Add(-1) >= 0 {
			_, err = n.service.GrantStream(ctx, runOf(st), "here", "")
		}
	}
	if err != nil {
		panic(err)
	}
}

func runOf(st stream.State) command.StreamRun {
	return command.StreamRun{AccountID: st.AccountID, StreamID: st.ID, Actor: "live"}
}

func (n *liveNode) End(*http.Request, stream.State) (bool, error) { return false, nil }

func (n *liveNode) ICEServers(_ context.Context, st stream.State) []httpapi.ICEServer {
	if st.Node == "" {
		return nil
	}
	name, secret := "user", "secret"
	return []httpapi.ICEServer{{URLs: []string{"stun:stun.example"}}, {URLs: []string{"turn:turn.example"}, Username: &name, Credential: &secret}}
}

func (n *liveNode) Recording(_ context.Context, st stream.State) (httpapi.Recording, error) {
	return httpapi.Recording{Key: "recordings/" + st.ID + "/video.h264", MP4Key: "recordings/" + st.ID + "/video.mp4", DurationMillis: 2000, Frames: 50}, n.refused
}

func (n *liveNode) answer(w http.ResponseWriter, r *http.Request, what string) error {
	if n.refused != nil {
		return n.refused
	}
	body, err := io.ReadAll(r.Body)
	kind, status := "application/sdp", http.StatusCreated
	switch r.Method {
	case http.MethodGet:
		kind, status = "text/event-stream", http.StatusOK
	case http.MethodPatch:
		kind, status = "application/trickle-ice-sdpfrag", http.StatusOK
	case http.MethodDelete:
		w.WriteHeader(http.StatusOK)
		return nil
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, what+" "+string(body))
	return err
}

// Socket refuses each request that reaches it, because it speaks no WebSocket.
func (n *liveNode) Socket(_ http.ResponseWriter, _ *http.Request, id string) error {
	return fault.New(fault.ConcurrencyLimitExceeded, "socket of "+id)
}

func (n *liveNode) WHIP(w http.ResponseWriter, r *http.Request, id string) error {
	return n.answer(w, r, "whip "+id)
}

func (n *liveNode) Events(w http.ResponseWriter, r *http.Request, id string) error {
	if n.reached != nil {
		n.reached(r)
	}
	if n.endless {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		_, err := io.WriteString(w, context.Cause(r.Context()).Error())
		return err
	}
	return n.answer(w, r, "events "+id)
}

// withSlots lets the node of a world run so many streams.
func withSlots(slots int64) func(*httpapi.Options) {
	return func(o *httpapi.Options) { o.Live.(*liveNode).slots.Store(slots) }
}

const watch = `{"prompt": "Is there a dog?", "metadata": {"camera": "1"}, "webhook": {"url": "https://example.com/hook"}}`

func TestStreamLife(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	c := w.customer(100)
	created := c.do(http.MethodPost, "/v1/streams", watch)
	require.Equal(t, http.StatusCreated, created.StatusCode, string(created.raw))
	id := created.at("id").(string)
	require.Equal(t, "ready", created.at("status"))
	require.Equal(t, "ws"+strings.TrimPrefix(w.url, "http")+"/v1/streams/"+id+"/signal", created.at("signaling.url"))
	require.Equal(t, "dog", created.at("query.subjects.0.term"))
	require.Equal(t, map[string]any{"max_session_s": 3600.0, "warn_at_remaining_s": 60.0}, created.at("limits"))
	require.Equal(t, "secret", created.at("ice_servers.1.credential"))
	require.Nil(t, created.at("ice_servers.0.credential"))
	require.Nil(t, created.at("recording"))
	require.NotContains(t, string(created.raw), "example.com", "the override is never returned")
	require.Equal(t, 60.0, c.do(http.MethodGet, "/v1/credits", "").at("held_seconds"))

	again := c.do(http.MethodPost, "/v1/streams", watch)
	w.refused(again, http.StatusConflict, fault.StreamAlreadyActive, "")
	require.Equal(t, id, again.at("error.details.stream_id"))
	w.refused(c.do(http.MethodGet, "/v1/streams/"+id+"/recording", ""), http.StatusNotFound, fault.ResourceNotFound, "id")
	require.Equal(t, created.at("id"), c.do(http.MethodGet, "/v1/streams?status=ready", "").at("data.0.id"))
	require.Empty(t, c.do(http.MethodGet, "/v1/streams?status=ended", "").at("data"))

	ended := c.do(http.MethodPost, "/v1/streams/"+id+"/end", "")
	require.Equal(t, http.StatusOK, ended.StatusCode, string(ended.raw))
	require.Equal(t, "canceled", ended.at("end_reason"))
	require.Equal(t, map[string]any{"billed_seconds": 0.0, "credit_balance_after": 100.0}, ended.at("usage"))
	require.Equal(t, 0.0, ended.at("duration_s"))
	require.Nil(t, ended.at("signaling"))
	require.Nil(t, ended.at("ice_servers"))
	require.Equal(t, ended.raw, c.do(http.MethodPost, "/v1/streams/"+id+"/end", "").raw, "unchanged")
	require.Equal(t, ended.raw, c.do(http.MethodGet, "/v1/streams/"+id, "").raw)

	event := c.do(http.MethodGet, "/v1/events?type=stream.ended&resource_id="+id, "")
	require.Equal(t, "canceled", event.at("data.0.data.end_reason"), string(event.raw))
}

func TestQueuedStreams(t *testing.T) {
	t.Parallel()
	w := open(t)
	for position := 1.0; position <= 2; position++ {
		c := w.customer(100)
		created := c.do(http.MethodPost, "/v1/streams", watch)
		require.Equal(t, "queued", created.at("status"), string(created.raw))
		require.Equal(t, position, created.at("queue_position"))
		require.Nil(t, created.at("estimated_start_s"), "no stream has ended yet")
		require.Nil(t, created.at("ice_servers"))
		require.NotNil(t, created.at("signaling"))
	}
}

func TestLiveStreamIsShownWithItsResults(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	c := w.customer(100)
	created := c.do(http.MethodPost, "/v1/streams", `{"prompt": "How many dogs are there?", "recording": true}`)
	require.Equal(t, "none", created.at("recording.status"))
	st, err := resources.NewReader(w.pool).StreamByID(t.Context(), created.at("id").(string))
	require.NoError(t, err)
	change := func(commands ...stream.Command) {
		for _, command := range commands {
			_, _, err := w.service.ChangeStream(t.Context(), runOf(st), command)
			require.NoError(t, err)
		}
	}
	change(stream.Offer{Node: "here"}, stream.GoLive{Node: "here"}, stream.Resume{Node: "here"})
	live := c.do(http.MethodGet, "/v1/streams/"+st.ID, "")
	require.Equal(t, "live", live.at("status"))
	require.Equal(t, "recording", live.at("recording.status"))
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		w.refused(c.do(method, "/v1/streams/"+st.ID+"/recording", ""), http.StatusConflict, fault.ResourceConflict, "")
	}
	w.advance(3 * time.Second)
	result := stream.Result{
		AtS: 1.5, Answer: "yes", Confidence: 0.9, DetectedCount: new(2),
		Detections:      []stream.Detection{{Term: "dog", Confidence: 0.9, Box: [4]float64{0.1, 0.2, 0.3, 0.4}}},
		NarrativeUpdate: &stream.NarrativeUpdate{AtS: 1.5, Text: "Two dogs."},
	}
	refused := stream.Result{
		AtS: 2, Answer: "indeterminate", IndeterminateReason: new(query.UnsupportedQueryForm),
		UnsupportedAction: &answer.UnsupportedAction{Reason: "No sound.", DocsURL: "/docs/questions"},
	}
	change(
		stream.RecordPart{Node: "here", Part: stream.Part{Number: 1, Key: "k", SizeBytes: 1, Frames: 50, DurationMillis: 2000}},
		stream.End{Node: "here", ClockMillis: 2100, Summary: stream.Summary{ResultFrames: 1, LastDetections: []stream.Result{result, refused}}},
	)
	ended := c.do(http.MethodGet, "/v1/streams/"+st.ID, "")
	require.Equal(t, "completed", ended.at("end_reason"))
	require.Equal(t, 3.0, ended.at("usage.billed_seconds"))
	require.Equal(t, 3.0, ended.at("duration_s"))
	require.Equal(t, 1.0, ended.at("results_summary.frames"))
	require.Empty(t, live.Header.Get("Deprecation"), "a live stream has no summary")
	event := c.do(http.MethodGet, "/v1/events?type=stream.ended", "").at("data").([]any)[0].(map[string]any)["id"].(string)
	for _, request := range []string{
		"GET /v1/streams/" + st.ID, "GET /v1/streams", "POST /v1/streams/" + st.ID + "/end", "GET /v1/events", "GET /v1/events/" + event,
	} {
		method, path, _ := strings.Cut(request, " ")
		got := c.do(method, path, "")
		require.Contains(t, string(got.raw), `"frames":1`, request)
		require.Equal(t, "@1787875200", got.Header.Get("Deprecation"), request)
		require.Equal(t, "Fri, 28 Aug 2026 00:00:00 GMT", got.Header.Get("Sunset"), request)
	}
	require.Equal(t, 2.0, ended.at("results_summary.last_detections.0.detected_count"))
	require.Equal(t, "Two dogs.", ended.at("results_summary.last_detections.0.narrative_update.text"))
	require.Nil(t, ended.at("results_summary.last_detections.0.indeterminate_reason"))
	require.Equal(t, "unsupported_query_form", ended.at("results_summary.last_detections.1.indeterminate_reason"))
	require.Regexp(t, "^http.*/docs/questions$", ended.at("results_summary.last_detections.1.unsupported_action.docs_url"))
	recording := c.do(http.MethodGet, "/v1/streams/"+st.ID+"/recording", "")
	require.Equal(t, http.StatusOK, recording.StatusCode, string(recording.raw))
	require.Equal(t, 25.0, recording.at("frame_rate"))
	for range 2 { // a repeated deletion succeeds
		deleted := c.do(http.MethodDelete, "/v1/streams/"+st.ID+"/recording", "")
		require.Equal(t, http.StatusOK, deleted.StatusCode, string(deleted.raw))
		require.JSONEq(t, `{"object": "stream_recording", "stream_id": "`+st.ID+`", "deleted": true}`, string(deleted.raw))
		require.Equal(t, "none", c.do(http.MethodGet, "/v1/streams/"+st.ID, "").at("recording.status"))
		w.refused(c.do(http.MethodGet, "/v1/streams/"+st.ID+"/recording", ""), http.StatusConflict, fault.ResourceConflict, "")
	}
	require.Equal(t, "stream_debit", c.do(http.MethodGet, "/v1/credits", "").at("transactions.0.kind"))
}

// TestAFailedRecordingIsShown: also while the stream is live.
func TestAFailedRecordingIsShown(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	c := w.customer(100)
	id := c.do(http.MethodPost, "/v1/streams", `{"prompt": "Is there a dog?", "recording": true}`).at("id").(string)
	st, err := resources.NewReader(w.pool).StreamByID(t.Context(), id)
	require.NoError(t, err)
	for _, command := range []stream.Command{
		stream.Offer{Node: "here"}, stream.GoLive{Node: "here"},
		stream.RecordPart{Node: "here", Part: stream.Part{Number: 1, Key: "k", SizeBytes: 5000, Frames: 50, DurationMillis: 2000}},
		stream.FailRecording{Node: "here", Failure: stream.RecordingFailure{Code: "upstream_error", Message: "No disk."}},
		stream.End{Node: "here"},
	} {
		st, _, err = w.service.ChangeStream(t.Context(), runOf(st), command)
		require.NoError(t, err)
		if st.RecordingStatus != stream.RecordingFailed {
			continue
		}
		got := c.do(http.MethodGet, "/v1/streams/"+id, "")
		require.Equal(t, map[string]any{"status": "failed", "error": map[string]any{"code": "upstream_error", "message": "No disk."}}, got.at("recording"))
		w.refused(c.do(http.MethodGet, "/v1/streams/"+id+"/recording", ""), http.StatusConflict, fault.ResourceConflict, "")
	}
	require.Equal(t, stream.Completed, st.Reason)
	held, _, err := resources.NewReader(w.pool).HeldBytes(t.Context(), st.AccountID)
	require.NoError(t, err)
	require.Zero(t, held, "its parts are removed")
}

func TestBadStreamRequests(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	for body, want := range map[string]struct {
		status int
		code   fault.Code
		param  string
	}{
		`{}`:                                 {400, fault.PromptEmpty, "prompt"},
		`{"prompt": " "}`:                    {400, fault.PromptEmpty, "prompt"},
		`{"prompt": "a", "query": {}}`:       {400, fault.ValidationFailed, "query"},
		`{"prompt": "dog?", "video_id": ""}`: {400, fault.ValidationFailed, "video_id"},
		`{"prompt": "dog?", "recording": 1}`: {400, fault.ValidationFailed, "recording"},
		`{"prompt": "dog?", "model": "x"}`:   {400, fault.ModelNotFound, ""},
		`{"prompt": "dog?", "webhook": {"url": "https://127.0.0.1/"}}`: {400, fault.URLForbidden, "webhook.url"},
		`{"prompt": "Is there a dog?"}`:                                {402, fault.InsufficientCredits, ""},
	} {
		got := c.do(http.MethodPost, "/v1/streams", body)
		require.Equal(t, string(want.code), got.at("error.code"), "%s: %s", body, got.raw)
		require.Equal(t, want.status, got.StatusCode, body)
	}
}

func TestStreamClientsAreAuthorized(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1))
	c, other := w.customer(100), w.customer(100)
	ended := c.watching()
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/streams/"+ended+"/end", "").StatusCode)
	id := c.watching()
	path := "/v1/streams/" + id
	signal := c.token(`{"scopes": ["streams:signal"], "stream_id": "` + id + `"}`)
	get := func(query string, header ...string) response {
		return w.do(http.MethodGet, path+"/signal"+query, "", header...)
	}
	for _, reached := range []response{get("?token=" + signal), get("", "Authorization", "Bearer "+signal)} {
		w.refused(reached, 429, fault.ConcurrencyLimitExceeded, "")
		require.Equal(t, "socket of "+id, reached.at("error.message"))
	}
	missing := get("")
	w.refused(missing, 401, fault.InvalidAPIKey, "token")
	require.Contains(t, missing.at("error.message"), "The client token is missing.", "a browser cannot send the header Authorization")
	w.refused(get("?token=none"), 401, fault.InvalidAPIKey, "")
	w.refused(get("?token="+signal+"&token="+signal), 401, fault.InvalidAPIKey, "token")
	w.refused(get("?token="+c.key.Secret), 401, fault.InvalidAPIKey, "token")
	w.refused(get("", "Authorization", "Bearer "+c.key.Secret), 401, fault.InvalidAPIKey, "token")
	w.refused(get("?token="+c.token(`{"scopes": ["streams:create"]}`)), 403, fault.InsufficientScope, "")
	w.refused(get("?token="+other.token(`{"scopes": ["streams:signal"]}`)), 404, fault.ResourceNotFound, "id")
	w.refused(get("?token="+c.token(`{"scopes": ["streams:signal"], "stream_id": "`+ended+`"}`)), 403, fault.InsufficientScope, "")
	require.False(t, bytes.Contains([]byte(w.logged.String()), []byte(signal)), "no token is logged")

	sdp := []string{"Content-Type", "application/sdp", "Authorization", "Bearer " + signal}
	require.Equal(t, "whip "+id+" v=0", string(w.do(http.MethodPost, path+"/whip", "v=0", sdp...).raw))
	w.refused(w.do(http.MethodPost, path+"/whip", "", sdp...), 400, fault.ValidationFailed, "")
	w.refused(w.do(http.MethodPost, path+"/whip", strings.Repeat("x", 70_000), sdp...), 413, fault.PayloadTooLarge, "")
	w.refused(w.do(http.MethodPost, path+"/whip", "{}", "Authorization", "Bearer "+signal), 415, fault.UnsupportedMediaType, "")
	require.Equal(t, "events "+id+" ", string(w.do(http.MethodGet, path+"/events", "", "Authorization", "Bearer "+signal).raw))
	w.refused(w.do(http.MethodPost, path+"/end", "", "Authorization", "Bearer "+signal), 403, fault.InsufficientScope, "")
	for _, method := range []string{"GET /signal", "GET /events", "DELETE /whip", "GET /recording", "DELETE /recording", "POST /end", "GET "} {
		verb, rest, _ := strings.Cut(method, " ")
		if rest != "/signal" {
			w.refused(other.do(verb, path+rest, ""), 404, fault.ResourceNotFound, "id")
		}
	}
}

// statusFault is a fault with another status.
type statusFault struct{ error }

func (statusFault) HTTPStatus() int { return http.StatusPreconditionFailed }

func (f statusFault) Unwrap() error { return f.error }

func TestLiveErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	refused := statusFault{fault.New(fault.ResourceConflict, "stale")}
	w := open(t, withSlots(1), func(o *httpapi.Options) { o.Live.(*liveNode).refused = refused })
	c := w.customer(100)
	id := c.do(http.MethodPost, "/v1/streams", watch).at("id").(string)
	got := c.do(http.MethodPatch, "/v1/streams/"+id+"/whip", "a=end-of-candidates", "Content-Type", "application/trickle-ice-sdpfrag")
	require.Equal(t, http.StatusPreconditionFailed, got.StatusCode, string(got.raw))
	require.Equal(t, "resource_conflict", got.at("error.code"))
}

// TestARevokedKeyEndsItsConnections: a connection lasts as long as its key. The expiry of a client token ends none.
func TestARevokedKeyEndsItsConnections(t *testing.T) {
	t.Parallel()
	w := open(t, withSlots(1), func(o *httpapi.Options) {
		o.Live.(*liveNode).endless, o.Streams.Check = true, 20*time.Millisecond
	})
	c := w.customer(100)
	id := c.do(http.MethodPost, "/v1/streams", watch).at("id").(string)
	token := c.do(http.MethodPost, "/v1/client_tokens", `{"scopes": ["streams:signal"], "stream_id": "`+id+`"}`).at("token").(string)
	path := "/v1/streams/" + id + "/events"
	withToken, withKey := w.stream(path, token), w.stream(path, c.key.Secret)
	w.advance(time.Hour)
	time.AfterFunc(200*time.Millisecond, withToken.leave)
	text, err := io.ReadAll(withToken.Body)
	require.ErrorIs(t, err, context.Canceled, "the expiry of the token ended the connection: %s", text)
	require.NoError(t, w.service.RevokeKey(t.Context(), c.key.AccountID, c.key.KeyID, "test", ""))
	require.Contains(t, withKey.rest(t), "key_revoked")
}
