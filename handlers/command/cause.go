package command

import (
	"cmp"
	"context"
	"strconv"

	"vqa/domain/id"
	"vqa/eventstore"
)

// Cause links work that the service does by itself to the event or request that led to it.
// Work without a cause gets a request id of its own, so that every event can be traced to one.
type Cause struct {
	RequestID     string `json:"request_id,omitempty"`
	CorrelationID string `json:"correlation_id,omitempty"`
	CausationID   string `json:"causation_id,omitempty"`
}

// CausedBy returns the cause of work that a recorded event leads to.
func CausedBy(r eventstore.Recorded) Cause {
	return CausedAt(r.Position, r.Meta.RequestID, r.Meta.CorrelationID)
}

// CausedAt returns the cause of work that the event at a position leads to. The ids are those of
// its metadata.
func CausedAt(position int64, requestID, correlationID string) Cause {
	return Cause{RequestID: requestID, CorrelationID: correlationID, CausationID: "position:" + strconv.FormatInt(position, 10)}
}

// CauseOf returns the first event of a stream as the cause of work on it. Sweeps use it, because
// the original cause of the work they find is lost.
func (s *Service) CauseOf(ctx context.Context, stream eventstore.StreamID) (Cause, error) {
	c, _, err := s.OriginOf(ctx, stream)
	return c, err
}

// OriginOf returns the first event of a stream as a cause, with its actor: the id of an API key, a client
// token or a session, "session", or a part of the service.
func (s *Service) OriginOf(ctx context.Context, stream eventstore.StreamID) (c Cause, actor string, err error) {
	events, err := s.Store.ReadStream(ctx, stream, 0, 1)
	if err != nil || len(events) == 0 {
		return Cause{}, "", err
	}
	return CausedBy(events[0]), events[0].Meta.Actor, nil
}

// systemMeta returns the metadata of events that the service records by itself. actor names
// the part of the service.
func (s *Service) systemMeta(c Cause, accountID, actor string) eventstore.Meta {
	m := eventstore.Meta{AccountID: accountID, RequestID: c.RequestID, Actor: "system:" + actor}
	if m.RequestID == "" {
		m.RequestID = s.IDs.New(id.Request)
	}
	m.CorrelationID = cmp.Or(c.CorrelationID, m.RequestID)
	m.CausationID = cmp.Or(c.CausationID, m.RequestID)
	return m
}

// operatorIntent prepares the pipeline for an operator's command. An empty requestID is
// replaced by a new one.
func (s *Service) operatorIntent(accountID, operator, requestID string) intent {
	if requestID == "" {
		requestID = s.IDs.New(id.Request)
	}
	return intent{accountID: accountID, meta: eventstore.Meta{
		AccountID: accountID, RequestID: requestID, CorrelationID: requestID, CausationID: requestID,
		Actor: "operator:" + operator,
	}}
}
