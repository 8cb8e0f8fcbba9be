package command

import (
	"context"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query"
	"vqa/domain/stream"
)

// streamSliceS is the number of seconds that a stream reserves at a time (docs/contract.md#holds).
const streamSliceS = 60

// Streams is the part of the read model that creating a stream needs.
type Streams interface {
	// ActiveStream returns the stream of an account and mode that has not ended, or "".
	ActiveStream(ctx context.Context, accountID string, livemode bool) (string, error)
	// QueuedStreams counts the streams of a mode that wait for a slot, over all accounts.
	QueuedStreams(ctx context.Context, livemode bool) (int, error)
	// SlotIn estimates the seconds until the next of the queued streams gets a slot. known is false
	// when there is no estimate.
	SlotIn(ctx context.Context, livemode bool) (seconds int, known bool)
}

// CreateStream is the command to create a live stream. Exactly one of Prompt and Query is set.
type CreateStream struct {
	// Prompt is 1 to 2000 characters.
	Prompt    *string
	Query     *query.Query
	Model     string
	Narrative bool
	Recording bool
	Metadata  map[string]string
	// Webhook receives the events of this stream only. It may be nil.
	Webhook *stream.Webhook
}

// CreateStream creates a stream that waits for a slot, and reserves its first credits. Errors:
// prompt_empty, prompt_too_long, parse_failed, model_not_found, model_deprecated,
// stream_already_active, insufficient_credits, grant_exhausted, quota_exceeded,
// capacity_exhausted.
func (s *Service) CreateStream(ctx context.Context, caller Caller, c CreateStream) (stream.State, error) {
	create, err := s.newStream(ctx, caller, c)
	if err != nil {
		return stream.State{}, err
	}
	if err := s.checkStreamQueue(ctx, caller.Livemode); err != nil {
		return stream.State{}, err
	}
	if c.Recording {
		if _, _, err := s.RecordingLimit(ctx, caller.AccountID); err != nil {
			return stream.State{}, err
		}
	}
	in := caller.intent(credits.Stream(caller.AccountID))
	in.created(create.ID)
	var created stream.State
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		if err := s.checkNoStream(ss, caller); err != nil {
			return err
		}
		if create.Livemode {
			if create.HeldSeconds, err = s.holdFirstSlice(ss, create); err != nil {
				return err
			}
		}
		ss.fresh(streams.Stream(create.ID))
		created, err = streams.record(ss, create.ID, create)
		return err
	})
	return created, asExhausted(err, caller.Tier)
}

// newStream returns the checked command without its credits.
func (s *Service) newStream(ctx context.Context, caller Caller, c CreateStream) (stream.Create, error) {
	m, err := s.Catalog.Resolve(c.Model, s.Now())
	if err != nil {
		return stream.Create{}, err
	}
	create := stream.Create{
		ID: s.IDs.New(id.Stream), AccountID: caller.AccountID, Livemode: caller.Livemode, Prompt: c.Prompt, Model: m.ID,
		Narrative: c.Narrative, Recording: c.Recording, Metadata: c.Metadata, Webhook: c.Webhook,
		MaxSessionSeconds: s.Limits.StreamMaxSessionSeconds, WarnAtSeconds: s.Limits.StreamWarnAtSeconds,
	}
	switch {
	case c.Query != nil:
		create.Query, create.ParseMode = *c.Query, stream.ParseClient
	case c.Prompt != nil:
		if create.Query, create.ParseMode, err = s.CompileStreamPrompt(ctx, caller.Livemode, *c.Prompt); err != nil {
			return stream.Create{}, err
		}
	default:
		return stream.Create{}, fault.New(fault.PromptEmpty, "").WithParam("prompt")
	}
	return create, nil
}

// streamParseMode converts the parse mode of a prompt. The names are those of the contract in both aggregates.
func streamParseMode(m analysis.ParseMode) stream.ParseMode { return stream.ParseMode(m) }

// checkStreamQueue refuses another stream when the queue for slots is full. Test mode, which costs nothing, has a queue
// of its own: it must not keep live streams out.
func (s *Service) checkStreamQueue(ctx context.Context, livemode bool) error {
	queued, err := s.Streams.QueuedStreams(ctx, livemode)
	if err != nil || queued < s.Limits.StreamQueueCap {
		return err
	}
	wait := retryDefaultS
	if seconds, known := s.Streams.SlotIn(ctx, livemode); known {
		wait = max(1, min(seconds, retryMaxS))
	}
	return fault.New(fault.CapacityExhausted, "The queue for live streams is full. Wait for the time in Retry-After, then try again.").WithRetryAfter(wait)
}

// checkNoStream refuses a second stream of the account's mode. In live mode the open hold shows the
// first one: it is part of the balance, which no two commands change at once. In test mode there is no
// hold, and the read model shows it.
func (s *Service) checkNoStream(ss *session, caller Caller) error {
	active := ""
	if caller.Livemode {
		balance, err := credits.get(ss, caller.AccountID)
		if err != nil {
			return err
		}
		for h := range balance.Holds.All() {
			if h.SourceType == credit.SourceStream {
				active = h.SourceID
			}
		}
	} else {
		var err error
		if active = pendingStream(ss, caller); active == "" {
			if active, err = s.Streams.ActiveStream(ss.ctx, caller.AccountID, caller.Livemode); err != nil {
				return err
			}
		}
	}
	if active == "" {
		return nil
	}
	if caller.TokenID != "" { // another token may have created it
		return fault.New(fault.StreamAlreadyActive, "A stream of this account has not ended, and an account has one stream at a time. Try again when it has ended.")
	}
	return fault.Newf(fault.StreamAlreadyActive, "The stream %s of this account has not ended, and an account has one stream at a time. End it first, or join it.", active).
		WithDetail("stream_id", active)
}

// pendingStream returns the stream of the caller's mode that an earlier command of the group created, or "".
func pendingStream(ss *session, caller Caller) string {
	for of, e := range ss.group {
		if st, ok := e.state.(stream.State); ok && of.Category == streams.Category() && len(e.pending) > 0 &&
			st.AccountID == caller.AccountID && st.Livemode == caller.Livemode && st.Status != stream.EndedStatus {
			return st.ID
		}
	}
	return ""
}

// holdFirstSlice reserves the first slice, or what the account has left, and returns its seconds.
func (s *Service) holdFirstSlice(ss *session, c stream.Create) (int64, error) {
	balance, err := credits.get(ss, c.AccountID)
	if err != nil {
		return 0, err
	}
	seconds := max(1, min(streamSliceS, balance.AvailableSeconds(), c.MaxSessionSeconds))
	_, err = credits.record(ss, c.AccountID, credit.Hold{
		AccountID: c.AccountID, HoldID: s.IDs.New(id.Transaction), Seconds: seconds, SourceType: credit.SourceStream,
		SourceID: c.ID, ExpiresAt: ss.now.Add(holdLife), QuotaSeconds: s.Limits.QuotaSecondsPerMonth,
	})
	return seconds, err
}

// EndStream ends a stream as its client asks. It is billed up to the last heartbeat. An ended stream is
// returned unchanged. Error: resource_not_found.
func (s *Service) EndStream(ctx context.Context, caller Caller, streamID string) (st stream.State, err error) {
	in := caller.intent(streams.Stream(streamID), credits.Stream(caller.AccountID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		if st, err = streams.get(ss, streamID); err != nil {
			return err
		}
		if !st.Exists() || st.AccountID != caller.AccountID || st.Livemode != caller.Livemode {
			return fault.NotFound("id", streamID)
		}
		st, err = s.endStream(ss, st, stream.End{})
		return err
	})
	return st, err
}

// DeleteRecording deletes the recording of a stream that has ended, and its files. A stream whose recording is gone is
// returned unchanged. Errors: resource_not_found, also for a stream without `recording`;
// resource_conflict while the stream is active.
func (s *Service) DeleteRecording(ctx context.Context, caller Caller, streamID string) (st stream.State, err error) {
	err = s.Pipeline.do(ctx, caller.intent(streams.Stream(streamID)), func(ss *session) error {
		if st, err = streams.get(ss, streamID); err != nil {
			return err
		}
		if !st.Exists() || st.AccountID != caller.AccountID || st.Livemode != caller.Livemode {
			return fault.NotFound("id", streamID)
		}
		st, err = streams.record(ss, streamID, stream.DeleteRecording{})
		return err
	})
	if err == nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalPatience)
		defer cancel()
		_ = s.Uploads.RemoveRecording(after, streamID) // the job logs what still fails then
	}
	return st, err
}
