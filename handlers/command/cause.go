package command

import (
	"cmp"
	"context"
	"strconv"

	"vqa/domain/id"
	"vqa/eventstore"
)

// Cause joins what the service does by itself to what led to it. Where nothing did, the
// work gets a request id of its own: every event can be traced to one.
type Cause struct {
	RequestID     string `json:"request_id,omitempty"`
	CorrelationID string `json:"correlation_id,omitempty"`
	CausationID   string `json:"causation_id,omitempty"`
}

// CausedBy is the cause of what a recorded event leads to.
func CausedBy(r eventstore.Recorded) Cause {
	return Cause{
		RequestID: r.Meta.RequestID, CorrelationID: r.Meta.CorrelationID,
		CausationID: "position:" + strconv.FormatInt(r.Position, 10),
	}
}

// CauseOf is the cause of work that begins with a stream, when nobody remembers it: the
// stream's first event.
func (s *Service) CauseOf(ctx context.Context, stream eventstore.StreamID) (Cause, error) {
	events, err := s.Store.ReadStream(ctx, stream, 0, 1)
	if err != nil || len(events) == 0 {
		return Cause{}, err
	}
	return CausedBy(events[0]), nil
}

// systemMeta is the metadata of events that a part of the service leads to.
func (s *Service) systemMeta(c Cause, accountID, actor string) eventstore.Meta {
	m := eventstore.Meta{AccountID: accountID, RequestID: c.RequestID, Actor: "system:" + actor}
	if m.RequestID == "" {
		m.RequestID = s.IDs.New(id.Request)
	}
	m.CorrelationID = cmp.Or(c.CorrelationID, m.RequestID)
	m.CausationID = cmp.Or(c.CausationID, m.RequestID)
	return m
}

// operatorIntent prepares the pipeline for an operator's order. requestID is empty when
// the order came without one.
func (s *Service) operatorIntent(accountID, operator, requestID string) intent {
	if requestID == "" {
		requestID = s.IDs.New(id.Request)
	}
	return intent{accountID: accountID, meta: eventstore.Meta{
		AccountID: accountID, RequestID: requestID, CorrelationID: requestID, CausationID: requestID,
		Actor: "operator:" + operator,
	}}
}
