package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections/resources"
)

const (
	// rereadEvery is the longest delay until a change is noticed whose signal was lost, for
	// instance a change on another node.
	rereadEvery = 500 * time.Millisecond
	// rereadGap is the least time between two reads, because the changes of all accounts
	// send signals.
	rereadGap = 20 * time.Millisecond
)

// await reads a created analysis until it is terminal or until wait is over, and returns the last state.
// A failed read ends the wait: the analysis exists, so the caller must not repeat the request.
func (s *server) await(ctx context.Context, x *edge.Exchange, last resources.Analysis, wait time.Duration) resources.Analysis {
	enough := time.NewTimer(wait)
	defer enough.Stop()
	err := s.follow(ctx, x.Tenant(), last.ID, enough.C, func(a resources.Analysis) error {
		last = a
		return nil
	})
	if err != nil {
		s.Log.WarnContext(ctx, "cannot read the created analysis", "request_id", x.RequestID, "error", err.Error())
	}
	return last
}

// follow reads an analysis now and after each change. It returns after the terminal state,
// when enough fires, or with the first error of a read or of see.
func (s *server) follow(ctx context.Context, t resources.Tenant, analysisID string, enough <-chan time.Time, see func(resources.Analysis) error) error {
	wake, unsubscribe := s.Wake()
	defer unsubscribe()
	reread := time.NewTicker(rereadEvery)
	defer reread.Stop()
	gap := time.NewTimer(rereadGap)
	defer gap.Stop()
	for {
		a, err := s.Resources.Analysis(ctx, t, analysisID)
		if err != nil {
			return err
		}
		if err := see(a); err != nil || a.Status.Terminal() {
			return err
		}
		gap.Reset(rereadGap)
		if done, err := pause(ctx, enough, nil, gap.C); done || err != nil {
			return err
		}
		if done, err := pause(ctx, enough, wake, reread.C); done || err != nil {
			return err
		}
	}
}

// pause waits for the first of wake, next and enough. done is true if enough fired.
func pause(ctx context.Context, enough <-chan time.Time, wake <-chan struct{}, next <-chan time.Time) (done bool, err error) {
	select {
	case <-wake:
		return false, nil
	case <-next:
		return false, nil
	case <-enough:
		return true, nil
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// StreamAnalysis answers GET /v1/analyses/{id}/events (docs/contract.md#analysis-events).
func (s *server) StreamAnalysis(ctx context.Context, r api.StreamAnalysisRequestObject) (api.StreamAnalysisResponseObject, error) {
	first, err := s.ownAnalysis(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	seen := ""
	if r.Params.LastEventID != nil {
		seen = *r.Params.LastEventID
	}
	st := analysisStream{server: s, ctx: ctx, analysisID: first.ID, seen: seen}
	return eventStream{server: s, ctx: ctx, exchange: edge.ExchangeOf(ctx), next: st.next}, nil
}

// analysisStream sends the states of one analysis.
type analysisStream struct {
	server     *server
	ctx        context.Context
	analysisID string
	// seen is the id of the last event that the client has.
	seen string
}

// next sends the analysis if its state has changed. The terminal state is the last event.
func (st *analysisStream) next(out *eventWriter) (step, error) {
	a, err := st.server.Resources.Analysis(st.ctx, edge.ExchangeOf(st.ctx).Tenant(), st.analysisID)
	if err != nil {
		return over, err
	}
	if name := eventID(a); name != st.seen {
		data, err := json.Marshal(st.server.renderAnalysis(st.ctx, a))
		if err != nil {
			return over, err
		}
		st.seen = name
		if err := out.send(fmt.Sprintf("event: analysis\nid: %s\ndata: %s\n\n", name, data)); err != nil {
			return over, err
		}
	}
	if a.Status.Terminal() {
		return over, nil
	}
	return wait, nil
}

// eventID returns an id for the state of an analysis. Equal states have equal ids.
func eventID(a resources.Analysis) string {
	position := 0
	if a.QueuePosition != nil {
		position = *a.QueuePosition
	}
	name := string(a.Status) + "." + strconv.Itoa(a.Attempt) + "." + strconv.Itoa(a.Percent) + "." + strconv.Itoa(position)
	if a.Drawing {
		name += ".drawing"
	}
	if a.Narrating() {
		name += ".narrating"
	}
	return name
}
