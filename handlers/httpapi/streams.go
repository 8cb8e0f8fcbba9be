package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query"
	"vqa/domain/stream"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/objects"
	"vqa/projections/resources"
)

// ICEServer is a STUN or TURN server for a client (docs/contract.md#ice-servers).
type ICEServer struct {
	URLs                 []string
	Username, Credential *string
}

// Recording is the stored recording of a stream.
type Recording struct {
	// Key and MP4Key are the keys of the objects. MP4Key is empty when no MP4 could be made.
	Key, MP4Key string
	// DurationMillis is the duration of the recorded parts.
	DurationMillis int64
	// Frames is the number of pictures.
	Frames int64
}

// LiveStreams is the live part of streams on this node. The caller has authorized each request.
type LiveStreams interface {
	// Fill gives free slots of this node to the streams that wait longest.
	Fill(ctx context.Context)
	// End ends a stream that a living node runs, with its exact clock. done is false when none runs it.
	End(r *http.Request, st stream.State) (done bool, err error)
	// ICEServers returns the servers for the client of a stream, or nil when its node is not known yet.
	ICEServers(ctx context.Context, st stream.State) []ICEServer
	// Recording returns the recording of a stream that has one. Error: resource_conflict until it is stored.
	Recording(ctx context.Context, st stream.State) (Recording, error)
	// Preflight does a step of a test of the connection, or names the node that runs the test. Errors:
	// resource_not_found, resource_conflict, validation_failed, concurrency_limit_exceeded, capacity_exhausted.
	Preflight(ctx context.Context, accountID string, p PreflightStep) (state Preflight, node string, err error)
	// Forward passes a request on to another node.
	Forward(w http.ResponseWriter, r *http.Request, node string) error
	// Socket, WHIP and Events answer requests of the client (docs/contract.md#signaling). They return an
	// error when there is no response yet.
	Socket(w http.ResponseWriter, r *http.Request, streamID string) error
	WHIP(w http.ResponseWriter, r *http.Request, streamID string) error
	Events(w http.ResponseWriter, r *http.Request, streamID string) error
}

// queuedLife is how long a stream can wait for a slot: as long as its credits are reserved.
const queuedLife = 24 * time.Hour

// ListStreams answers GET /v1/streams.
func (s *server) ListStreams(ctx context.Context, r api.ListStreamsRequestObject) (api.ListStreamsResponseObject, error) {
	p := r.Params
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	streams, more, err := s.Resources.Streams(ctx, edge.ExchangeOf(ctx).Tenant(), stream.Status(given(p.Status)), page)
	if err != nil {
		return nil, err
	}
	list := api.StreamList{Object: api.StreamListObjectList, Data: make([]api.Stream, len(streams)), HasMore: more}
	for i, st := range streams {
		list.Data[i] = s.showStream(ctx, st)
	}
	return api.ListStreams200JSONResponse(list), nil
}

// CreateStream answers POST /v1/streams. The edge has checked the body.
func (s *server) CreateStream(ctx context.Context, r api.CreateStreamRequestObject) (api.CreateStreamResponseObject, error) {
	c := command.CreateStream{Prompt: r.Body.Prompt, Model: given(r.Body.Model), Recording: given(r.Body.Recording), Metadata: given(r.Body.Metadata)}
	if r.Body.Query != nil {
		q, err := query.Decode(r.Body.Query)
		if err != nil {
			return nil, err
		}
		c.Query = &q
	}
	if w := override(r.Body.Webhook); w != nil {
		c.Webhook = &stream.Webhook{URL: w.URL, Events: w.Events}
	}
	if r.Body.Options != nil {
		c.Narrative = given(r.Body.Options.Narrative)
	}
	x := edge.ExchangeOf(ctx)
	created, err := s.Service.CreateStream(ctx, x.Caller, c)
	if err != nil {
		return nil, err
	}
	warnOfAlias(x, c.Model, created.Model)
	s.Live.Fill(ctx)
	// The stream is created even if this read fails, so a failure must not make the caller repeat the request.
	st, err := s.Resources.Stream(ctx, x.Tenant(), created.ID)
	if err != nil {
		s.Log.WarnContext(ctx, "cannot read the created stream", "request_id", x.RequestID, "error", err.Error())
		st = resources.Stream{State: created}
	}
	return api.CreateStream201JSONResponse(s.showStream(ctx, st)), nil
}

// GetStream answers GET /v1/streams/{id}.
func (s *server) GetStream(ctx context.Context, r api.GetStreamRequestObject) (api.GetStreamResponseObject, error) {
	st, err := s.ownStream(ctx, r.Id)
	return api.GetStream200JSONResponse(s.showStream(ctx, st)), err
}

// ownStream reads a stream of the caller. Error: resource_not_found.
func (s *server) ownStream(ctx context.Context, streamID string) (resources.Stream, error) {
	if !id.Valid(id.Stream, streamID) {
		return resources.Stream{}, fault.NotFound("id", streamID)
	}
	return s.Resources.Stream(ctx, edge.ExchangeOf(ctx).Tenant(), streamID)
}

// EndStream answers POST /v1/streams/{id}/end. The node that runs the stream knows its clock best.
func (s *server) EndStream(ctx context.Context, r api.EndStreamRequestObject) (api.EndStreamResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	st, err := s.ownStream(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	done, err := s.Live.End(x.Request, st.State)
	if err != nil {
		return nil, err
	}
	if !done {
		if _, err := s.Service.EndStream(ctx, x.Caller, r.Id); err != nil {
			return nil, err
		}
	}
	st, err = s.ownStream(ctx, r.Id)
	return api.EndStream200JSONResponse(s.showStream(ctx, st)), err
}

// GetStreamRecording answers GET /v1/streams/{id}/recording (docs/contract.md#recording).
func (s *server) GetStreamRecording(ctx context.Context, r api.GetStreamRecordingRequestObject) (api.GetStreamRecordingResponseObject, error) {
	st, err := s.ownStream(ctx, r.Id)
	switch {
	case err != nil:
		return nil, err
	case !st.Recording:
		return nil, fault.New(fault.ResourceNotFound, "The stream was created without `recording`.").WithParam("id")
	case st.Status != stream.EndedStatus:
		return nil, fault.New(fault.ResourceConflict, "The stream is active. Its recording is available when it has ended.")
	case st.RecordingStatus == stream.RecordingFailed && st.RecordingFailure != nil:
		return nil, fault.Newf(fault.ResourceConflict, "The recording failed. %s", st.RecordingFailure.Message)
	case st.RecordingStatus == stream.RecordingFailed:
		return nil, fault.New(fault.ResourceConflict, "The recording failed.")
	case st.RecordingStatus != stream.RecordingAvailable:
		return nil, fault.New(fault.ResourceConflict, "Nothing is stored: no video arrived, or the recording was deleted.")
	}
	found, err := s.Live.Recording(ctx, st.State)
	if err != nil {
		return nil, err
	}
	raw, err := s.Objects.DownloadURL(ctx, found.Key, st.ID+".h264", "video/h264", objects.SignedURLLife)
	if err != nil {
		return nil, err
	}
	out := api.StreamRecording{
		Object: api.StreamRecordingObjectStreamRecording, StreamId: st.ID, Url: raw.URL, ExpiresAt: stamp(raw.ExpiresAt),
		ContentType: api.Videoh264, Container: api.H264AnnexB, DurationS: float64(found.DurationMillis) / 1000,
	}
	if found.DurationMillis > 0 {
		out.FrameRate = new(float64(found.Frames) * 1000 / float64(found.DurationMillis))
	}
	if found.MP4Key != "" {
		mp4, err := s.Objects.DownloadURL(ctx, found.MP4Key, st.ID+".mp4", "video/mp4", objects.SignedURLLife)
		if err != nil {
			return nil, err
		}
		out.Mp4Url = &mp4.URL
	}
	return api.GetStreamRecording200JSONResponse(out), nil
}

// DeleteStreamRecording answers DELETE /v1/streams/{id}/recording.
func (s *server) DeleteStreamRecording(ctx context.Context, r api.DeleteStreamRecordingRequestObject) (api.DeleteStreamRecordingResponseObject, error) {
	if _, err := s.ownStream(ctx, r.Id); err != nil {
		return nil, err
	}
	st, err := s.Service.DeleteRecording(ctx, edge.ExchangeOf(ctx).Caller, r.Id)
	return api.DeleteStreamRecording200JSONResponse{Object: api.DeletedStreamRecordingObjectStreamRecording, StreamId: st.ID, Deleted: true}, err
}

// liveResponse is a response that the live part of streams writes.
type liveResponse func(w http.ResponseWriter) error

// VisitSignalStreamResponse and the others implement the responses of the operations of the client.
func (write liveResponse) VisitSignalStreamResponse(w http.ResponseWriter) error  { return write(w) }
func (write liveResponse) VisitStreamResultsResponse(w http.ResponseWriter) error { return write(w) }
func (write liveResponse) VisitCreateWHIPSessionResponse(w http.ResponseWriter) error {
	return write(w)
}
func (write liveResponse) VisitUpdateWHIPSessionResponse(w http.ResponseWriter) error {
	return write(w)
}
func (write liveResponse) VisitDeleteWHIPSessionResponse(w http.ResponseWriter) error {
	return write(w)
}

// live lets the live part answer a request about a stream of the caller. Error: resource_not_found.
func (s *server) live(ctx context.Context, streamID string, answer func(http.ResponseWriter, *http.Request, string) error) (liveResponse, error) {
	if _, err := s.ownStream(ctx, streamID); err != nil {
		return nil, err
	}
	x := edge.ExchangeOf(ctx)
	return func(w http.ResponseWriter) error {
		valid, stop := s.whileValid(x)
		defer stop()
		return answer(w, x.Request.WithContext(valid), streamID)
	}, nil
}

// whileValid returns the context of a request, which ends when its credential is revoked, with the fault as the cause.
// A token that expires meanwhile ends nothing: it need only be valid when the client connects.
func (s *server) whileValid(x *edge.Exchange) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(x.Request.Context())
	if x.Recheck == nil { // another node passed the request on, and checks
		return ctx, func() { cancel(nil) }
	}
	var checking sync.WaitGroup
	checking.Go(func() {
		check := time.NewTicker(s.Streams.Check)
		defer check.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-check.C:
			}
			f := fault.Of(x.Recheck(ctx))
			if f == nil || f.Code == fault.TokenExpired {
				continue
			}
			if status := fault.Lookup(f.Code).Status; status == http.StatusUnauthorized || status == http.StatusForbidden {
				cancel(f)
				return
			}
		}
	})
	return ctx, func() { cancel(nil); checking.Wait() }
}

// counted bounds the connections of a key and of an account, also those to ended streams: together they could take all
// connections of the node. Error: concurrency_limit_exceeded.
func counted(open *openStreams, x *edge.Exchange, write liveResponse) liveResponse {
	key, account := x.Caller.KeyID+"/"+x.Caller.AccountID, x.Caller.AccountID
	return func(w http.ResponseWriter) error {
		if err := open.enter(key, account); err != nil {
			return err
		}
		defer open.leave(key, account)
		return write(w)
	}
}

// SignalStream answers GET /v1/streams/{id}/signal.
func (s *server) SignalStream(ctx context.Context, r api.SignalStreamRequestObject) (api.SignalStreamResponseObject, error) {
	write, err := s.live(ctx, r.Id, s.Live.Socket)
	return counted(&s.sockets, edge.ExchangeOf(ctx), write), err
}

// StreamResults answers GET /v1/streams/{id}/events.
func (s *server) StreamResults(ctx context.Context, r api.StreamResultsRequestObject) (api.StreamResultsResponseObject, error) {
	write, err := s.live(ctx, r.Id, s.Live.Events)
	return counted(&s.streams, edge.ExchangeOf(ctx), write), err
}

// CreateWHIPSession answers POST /v1/streams/{id}/whip.
func (s *server) CreateWHIPSession(ctx context.Context, r api.CreateWHIPSessionRequestObject) (api.CreateWHIPSessionResponseObject, error) {
	return s.live(ctx, r.Id, s.Live.WHIP)
}

// UpdateWHIPSession answers PATCH /v1/streams/{id}/whip.
func (s *server) UpdateWHIPSession(ctx context.Context, r api.UpdateWHIPSessionRequestObject) (api.UpdateWHIPSessionResponseObject, error) {
	return s.live(ctx, r.Id, s.Live.WHIP)
}

// DeleteWHIPSession answers DELETE /v1/streams/{id}/whip.
func (s *server) DeleteWHIPSession(ctx context.Context, r api.DeleteWHIPSessionRequestObject) (api.DeleteWHIPSessionResponseObject, error) {
	return s.live(ctx, r.Id, s.Live.WHIP)
}

func (s *server) recreateStream(ctx context.Context, x *edge.Exchange, streamID string) (int, any, error) {
	st, err := s.Resources.Stream(ctx, x.Tenant(), streamID)
	return http.StatusCreated, s.showStream(ctx, st), err
}
