package command

import (
	"context"
	"fmt"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/query"
	"vqa/domain/stream"
)

// StreamRun identifies a stream to the parts of the service that run it.
type StreamRun struct {
	AccountID, StreamID string
	// Actor is the part of the service, such as "live".
	Actor string
	Cause Cause
}

// Funds are the credits of an account in whole seconds, without what its stream has used so far.
type Funds struct {
	// Posted is the balance. Available is the part that is not reserved.
	Posted, Available int64
}

// ChangeStream records a command of the node that runs a stream, with its effect on the credits: a
// heartbeat reserves another slice when few seconds are left, and the end settles. It returns the stream and the
// credits afterwards, also when the command is refused. Errors: resource_not_found, resource_conflict.
func (s *Service) ChangeStream(ctx context.Context, r StreamRun, c stream.Command) (st stream.State, f Funds, err error) {
	in := intent{accountID: r.AccountID, meta: s.systemMeta(r.Cause, r.AccountID, r.Actor), test: true}
	in.streams = append(in.streams, streams.Stream(r.StreamID), credits.Stream(r.AccountID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		if st, err = streams.get(ss, r.StreamID); err != nil {
			return err
		}
		if f, err = fundsOf(ss, r.AccountID); err != nil {
			return err
		}
		switch c := c.(type) {
		case stream.Meter:
			st, err = s.meterStream(ss, st, c)
		case stream.End:
			st, err = s.endStream(ss, st, c)
		default:
			st, err = streams.record(ss, r.StreamID, c)
		}
		if err != nil {
			return err
		}
		f, err = fundsOf(ss, r.AccountID)
		return err
	})
	return st, f, err
}

func fundsOf(ss *session, accountID string) (Funds, error) {
	balance, err := credits.get(ss, accountID)
	return Funds{Posted: balance.PostedSeconds, Available: balance.AvailableSeconds()}, err
}

// GrantStream gives a slot of a node to a stream. from is the owner that the caller saw, empty for a stream
// that waits. Error: resource_conflict when the stream has another owner by now.
func (s *Service) GrantStream(ctx context.Context, r StreamRun, node, from string) (st stream.State, err error) {
	in := intent{accountID: r.AccountID, meta: s.systemMeta(r.Cause, r.AccountID, r.Actor), test: true}
	in.streams = append(in.streams, streams.Stream(r.StreamID))
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		if st, err = streams.get(ss, r.StreamID); err != nil {
			return err
		}
		if st.Exists() && st.Node != from {
			return fault.New(fault.ResourceConflict, fmt.Sprintf("The stream belongs to node %q by now.", st.Node))
		}
		st, err = streams.record(ss, r.StreamID, stream.GrantSlot{Node: node})
		return err
	})
	return st, err
}

// CompileStreamPrompt compiles a new question of a stream, as CreateStream does. Errors: prompt_empty,
// prompt_too_long, parse_failed.
func (s *Service) CompileStreamPrompt(ctx context.Context, livemode bool, prompt string) (query.Query, stream.ParseMode, error) {
	read, err := s.readPrompts(ctx, Caller{Livemode: livemode}, []string{prompt}, func(int) string { return "prompt" })
	if err != nil {
		return query.Query{}, "", err
	}
	return read[0].query, streamParseMode(read[0].mode), nil
}

// extendAtS is the number of reserved seconds that are left when a heartbeat reserves the next slice. A few heartbeats
// can fail before a stream with credits runs out.
const extendAtS = 30

// meterStream records a heartbeat. Its HeldSeconds become the reserved seconds afterwards: without enough credits or quota
// the stream goes on until the reserved seconds are used.
func (s *Service) meterStream(ss *session, st stream.State, c stream.Meter) (stream.State, error) {
	c.HeldSeconds = st.HeldSeconds
	if st.Livemode && st.Status == stream.Live && st.Node == c.Node && c.ClockMillis >= (st.HeldSeconds-extendAtS)*1000 {
		more, err := s.extend(ss, st)
		if err != nil {
			return st, err
		}
		c.HeldSeconds += more
	}
	return streams.record(ss, st.ID, c)
}

// extend extends the hold of a stream by a slice, as far as possible, and returns the added seconds.
func (s *Service) extend(ss *session, st stream.State) (int64, error) {
	balance, err := credits.get(ss, st.AccountID)
	if err != nil {
		return 0, err
	}
	more := min(streamSliceS, st.MaxSessionSeconds-st.HeldSeconds, balance.AvailableSeconds())
	if more < 1 {
		return 0, nil
	}
	_, err = credits.record(ss, st.AccountID, credit.Extend{
		SourceID: st.ID, Seconds: more, ExpiresAt: ss.now.Add(holdLife), QuotaSeconds: s.Limits.QuotaSecondsPerMonth,
	})
	if fault.Has(err, fault.QuotaExceeded) || fault.Has(err, fault.InsufficientCredits) {
		return 0, nil
	}
	return more, err
}

// endStream ends a stream and its hold in one append. An ended stream stays as it is.
func (s *Service) endStream(ss *session, st stream.State, c stream.End) (_ stream.State, err error) {
	if st.Exists() && st.Status != stream.EndedStatus && st.Livemode {
		if c.Usage, err = s.settleStream(ss, st, st.Billable(c, ss.now)); err != nil {
			return st, err
		}
	}
	return streams.record(ss, st.ID, c)
}

// settleStream ends the hold of a stream: with a debit, or without one when nothing is billed.
func (s *Service) settleStream(ss *session, st stream.State, seconds int64) (stream.Usage, error) {
	before, err := credits.get(ss, st.AccountID)
	if err != nil {
		return stream.Usage{}, err
	}
	var end credit.Command = credit.Release{SourceID: st.ID}
	if seconds > 0 {
		end = credit.Settle{SourceID: st.ID, TransactionID: s.IDs.New(id.Transaction), Seconds: seconds}
	}
	after, err := credits.record(ss, st.AccountID, end)
	if err != nil {
		return stream.Usage{}, err
	}
	return stream.Usage{BilledSeconds: before.PostedSeconds - after.PostedSeconds, BalanceAfter: &after.PostedSeconds}, nil
}

// expireStream ends a stream whose hold has expired. It was queued or live for longer than a hold lasts.
func expireStream(ss *session, st stream.State, balance credit.State) error {
	_, err := streams.record(ss, st.ID, stream.End{
		Reason: stream.Failed, Detail: fmt.Sprintf("The reserved credits were released after %s without a new reservation.", holdLife),
		Usage: stream.Usage{BalanceAfter: &balance.PostedSeconds},
	})
	return err
}
