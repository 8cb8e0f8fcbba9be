package webhook

import (
	"context"
	"time"

	"vqa/eventstore"
	"vqa/projections/deliveries"
	"vqa/projections/public"
)

// Problem is a kind of finding.
type Problem string

// The problems.
const (
	// Missing is a pair of an event and a target without a delivery.
	Missing Problem = "missing"
	// Double is a pair with several deliveries.
	Double Problem = "double"
	// Unexpected is a delivery of an event that does not exist, or to a target that did not
	// subscribe to it.
	Unexpected Problem = "unexpected"
	// Stuck is a delivery that waits without a place in the queue, or that ended and has one.
	Stuck Problem = "stuck"
)

// Finding is a pair for which the deliveries do not match the log.
type Finding struct {
	Problem  Problem `json:"problem"`
	EventID  string  `json:"event_id"`
	Target   string  `json:"target"`
	Position int64   `json:"position"`
}

// Verification is the result of a comparison.
type Verification struct {
	// Position is the last position of the log that was compared.
	Position int64 `json:"position"`
	// Events and Pairs count the public events and the pairs that must exist.
	Events int `json:"events"`
	Pairs  int `json:"pairs"`
	// Waiting counts events that the subscriber has set aside and that were left out.
	Waiting  int       `json:"waiting"`
	Findings []Finding `json:"findings"`
}

// Verifier compares the deliveries with the log.
type Verifier struct {
	Events  Events
	Streams Streams
	Log     interface {
		Read(ctx context.Context, after int64, limit int) ([]eventstore.Recorded, error)
	}
	Pairs interface {
		Pairs(ctx context.Context, eventIDs []string) ([]deliveries.Pair, error)
		Strays(ctx context.Context) ([]deliveries.Pair, error)
	}
	Now func() time.Time
}

// verifiedAge is the age of the oldest event that is compared: deliveries are visible for 30 days
// (docs/contract.md#webhook-deliveries).
const verifiedAge = 30 * 24 * time.Hour

// verifyPage is how many events of the log are compared at a time.
const verifyPage = 1000

// Verify compares all events up to a position that the subscriber has handled, except those that it
// has set aside. Both must have been read before, in this order.
func (v *Verifier) Verify(ctx context.Context, upTo int64, setAside []int64) (Verification, error) {
	out := Verification{Position: upTo, Waiting: len(setAside), Findings: []Finding{}}
	waiting := make(map[int64]bool, len(setAside))
	for _, position := range setAside {
		waiting[position] = true
	}
	for after := int64(0); after < upTo; {
		page, err := v.Log.Read(ctx, after, verifyPage)
		if err != nil {
			return out, err
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Position
		if err := v.compare(ctx, page, upTo, waiting, &out); err != nil {
			return out, err
		}
	}
	strays, err := v.Pairs.Strays(ctx)
	for _, p := range strays {
		out.add(Unexpected, p)
	}
	return out, err
}

// pairKey identifies a pair.
type pairKey struct{ eventID, target string }

// compare compares a page of the log.
func (v *Verifier) compare(ctx context.Context, page []eventstore.Recorded, upTo int64, waiting map[int64]bool, out *Verification) error {
	var ids []string
	expected := map[pairKey]int64{} // with the position of the event
	var order []pairKey
	for _, r := range page {
		eventID, ok := public.ID(r)
		if !ok || r.Position > upTo || waiting[r.Position] {
			continue
		}
		e, targets, err := pairs(ctx, v.Events, v.Streams, r)
		if err != nil {
			return err
		}
		if v.Now().Sub(e.At) > verifiedAge {
			continue
		}
		ids = append(ids, eventID)
		for _, t := range targets {
			key := pairKey{eventID, t.Key}
			expected[key] = r.Position
			order = append(order, key)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	out.Events += len(ids)
	out.Pairs += len(order)
	rows, err := v.Pairs.Pairs(ctx, ids)
	if err != nil {
		return err
	}
	for _, p := range rows {
		key := pairKey{p.EventID, p.Target}
		if _, ok := expected[key]; !ok {
			out.add(Unexpected, p)
		}
		delete(expected, key)
		if p.Rows > 1 {
			out.add(Double, p)
		}
		if p.Stuck {
			out.add(Stuck, p)
		}
	}
	for _, key := range order {
		if position, missing := expected[key]; missing {
			out.add(Missing, deliveries.Pair{EventID: key.eventID, Target: key.target, Position: position})
		}
	}
	return nil
}

func (out *Verification) add(problem Problem, p deliveries.Pair) {
	out.Findings = append(out.Findings, Finding{Problem: problem, EventID: p.EventID, Target: p.Target, Position: p.Position})
}
