package command

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore"
)

// operation is the command that a client wants to run. It may be sent several times.
type operation struct {
	name string
	// run sends it to a service and returns the outcome.
	run func(ctx context.Context, s *Service, request string, key *Idempotency) outcome
	// leaves lists the sets of events that it may record, each a sorted list of types.
	leaves []string
	// refused reports whether a refusal was justified at some moment.
	refused func(moments, fault.Code) bool
	// idle reports whether at some moment there was nothing to do, so that success records no
	// events. It is nil when success always records events.
	idle func(moments) bool
	// key makes it idempotent. scope is the namespace of the key.
	key   *Idempotency
	scope string
	dry   bool
}

// outcome is the response to a client.
type outcome struct {
	resource string
	// replayed is true when an earlier request created the resource. Then body is the response
	// of that request, if it was saved.
	replayed bool
	body     string
	err      error
}

// fate is the client's knowledge about the effect of a command.
type fate int

const (
	pending fate = iota
	acknowledged
	rejected
	// doubtful and unanswered commands may have taken effect.
	doubtful
	unanswered
)

// attempt is an operation that was sent once.
type attempt struct {
	operation
	number  int
	request string
	node    *node
	moments moments
	// began is the time of the bubble, which passes in pauses and at deadlines.
	began   time.Time
	cancel  context.CancelFunc
	result  chan outcome
	outcome outcome
	fate    fate
}

func (a *attempt) String() string {
	return fmt.Sprintf("command %d (%s on %s)", a.number, a.name, a.node.name)
}

// start sends a new operation, or an earlier one again.
func (s *sim) start() {
	a := &attempt{
		operation: s.draw(), number: len(s.attempts) + 1, node: s.nodes[s.random.IntN(len(s.nodes))], result: make(chan outcome, 1),
		moments: moments{oracle: s.oracle, from: s.oracle.position, began: s.clock.Now()},
		began:   time.Now(),
	}
	a.request = fmt.Sprintf("req_sim%d", a.number)
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), attemptKey{}, a.number))
	a.cancel = cancel
	s.attempts, s.open = append(s.attempts, a), append(s.open, a)
	s.note("start", "%s starts", a)
	go func() {
		defer cancel()
		a.result <- a.run(ctx, a.node.Service, a.request, a.key)
	}()
}

// judge compares a response with the current log.
func (s *sim) judge(a *attempt) error {
	a.moments.to, a.moments.ended = s.oracle.position, s.clock.Now()
	err, events := a.outcome.err, s.oracle.requests[a.request]
	s.trace = append(s.trace, fmt.Sprintf("    %s answers %s, %v", a, a.outcome.resource, err))
	var doubt *eventstore.UncertainError
	switch {
	case err == nil && a.outcome.replayed:
		a.fate = acknowledged
		s.met["replayed"]++
		return s.judgeReplay(a)
	case err == nil:
		a.fate = acknowledged
		s.met["ok"]++
		if len(events) == 0 && (a.idle == nil || !a.idle(a.moments)) {
			return errors.New("acknowledged, but the log has no event of it although there was something to do")
		}
		if err := a.judgeEvents(events); err != nil {
			return err
		}
		return s.judgeKey(a, "acknowledged")
	case errors.As(err, &doubt):
		a.fate = doubtful
		s.met["db_unavailable"]++
		return nil
	}
	a.fate = rejected
	if len(events) > 0 {
		return fmt.Errorf("refused with %w, but in the log is %s", err, typesOf(events))
	}
	f := fault.Of(err)
	if f == nil || f.Code == fault.DBUnavailable {
		return s.judgeFailure(a, err)
	}
	s.met[string(f.Code)]++
	return s.judgeRefusal(a, f)
}

// judgeFailure accepts failures that the simulation itself has caused.
func (s *sim) judgeFailure(a *attempt, err error) error {
	var conflict *eventstore.ConflictError
	for _, known := range []error{errBroken, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return nil
		}
	}
	if errors.As(err, &conflict) {
		if f := fault.Of(err); f != nil && time.Since(a.began) < commitTimeout {
			return fmt.Errorf("failed because of conflicts after %s, before its deadline", time.Since(a.began))
		}
		s.met["too many conflicts"]++
		return nil
	}
	return fmt.Errorf("failed for no reason: %w", err)
}

// judgeRefusal checks that a refusal was justified by the log at a moment between call and response.
func (s *sim) judgeRefusal(a *attempt, f *fault.Fault) error {
	switch f.Code {
	case fault.IdempotencyUnavailable, fault.IdempotencyKeyReused:
		reused := f.Code == fault.IdempotencyKeyReused
		for _, b := range s.attempts {
			if b != a && a.sameKey(b) && !b.dry && b.fate != rejected && (!reused || b.key.Hash != a.key.Hash) {
				return nil
			}
		}
		return fmt.Errorf("refused with %w, but no other request has the key", f)
	}
	if a.refused == nil || !a.refused(a.moments, f.Code) {
		return fmt.Errorf("refused with %w (%s), which was not justified at any moment of the call", f, f.Code)
	}
	return s.judgeKey(a, "refused with "+string(f.Code))
}

// judgeEvents checks that a command has recorded all of its events or none, and only once.
func (a *attempt) judgeEvents(events []eventstore.Recorded) error {
	if len(events) == 0 {
		return nil
	}
	if got := typesOf(events); !slices.Contains(a.leaves, got) {
		return fmt.Errorf("left %s, not one of %s", got, strings.Join(a.leaves, "; "))
	}
	return nil
}

func (a *attempt) sameKey(b *attempt) bool {
	return a.key != nil && b.key != nil && a.scope == b.scope && a.key.Key == b.key.Key
}

// judgeKey checks that a key takes effect once within its window. It applies to a command that was not
// answered from a receipt.
func (s *sim) judgeKey(a *attempt, how string) error {
	if a.key == nil || a.dry {
		return nil
	}
	for _, b := range s.attempts {
		if b == a || !a.sameKey(b) || b.fate != acknowledged || b.moments.to > a.moments.from || b.moments.ended.After(a.moments.began) {
			continue
		}
		events := s.oracle.requests[b.request]
		if len(events) > 0 && b.number < a.number && a.moments.ended.Before(at(events[0]).Add(eventstore.ReceiptWindow)) {
			return fmt.Errorf("%s, although %s had the same key before", how, b)
		}
	}
	return nil
}

// judgeReplay checks that a repeated request gets the resource of the first one.
func (s *sim) judgeReplay(a *attempt) error {
	if a.outcome.body != "" && a.outcome.body != a.outcome.resource {
		return fmt.Errorf("replayed %s with the response of %s", a.outcome.resource, a.outcome.body)
	}
	for _, b := range s.attempts {
		if !a.sameKey(b) || b.key.Hash != a.key.Hash || b == a {
			continue
		}
		events := s.oracle.requests[b.request]
		if len(events) == 0 && a.outcome.resource == "" {
			return nil // the first request had nothing to do
		}
		for _, r := range events {
			if a.outcome.resource == "" || r.Stream.ID == a.outcome.resource || isTransaction(r, a.outcome.resource) || inBatch(r, a.outcome.resource) {
				return nil
			}
		}
	}
	return fmt.Errorf("replayed %q, which no earlier request made", a.outcome.resource)
}

func inBatch(r eventstore.Recorded, batchID string) bool {
	e, ok := r.Event.(analysis.Created)
	return ok && e.BatchID == batchID
}

func isTransaction(r eventstore.Recorded, txn string) bool {
	e, ok := r.Event.(credit.Event)
	if !ok {
		return false
	}
	t, ok := credit.TransactionOf(e)
	return ok && t.TransactionID == txn
}

// judgeAll checks every command again when the service is at rest. An acknowledged command is in the
// log once. A refused one is not in the log. Any other is there completely or not at all. No key took
// effect twice within its window.
func (s *sim) judgeAll() error {
	effects := map[string][]*attempt{}
	for _, a := range s.attempts {
		events := s.oracle.requests[a.request]
		if err := a.judgeEvents(events); err != nil {
			return fmt.Errorf("in the end, %s: %w", a, err)
		}
		switch {
		case a.fate == rejected && len(events) > 0:
			return fmt.Errorf("in the end, %s: refused, but in the log is %s", a, typesOf(events))
		case a.fate == unanswered && len(events) > 0:
			s.met["unanswered but recorded"]++
		}
		if len(events) > 0 && a.key != nil {
			effects[a.scope+" "+a.key.Key] = append(effects[a.scope+" "+a.key.Key], a)
		}
	}
	for _, twice := range effects {
		slices.SortFunc(twice, func(a, b *attempt) int { return s.at(a).Compare(s.at(b)) })
		for i := 1; i < len(twice); i++ {
			if s.at(twice[i]).Sub(s.at(twice[i-1])) < eventstore.ReceiptWindow {
				return fmt.Errorf("in the end, %s and %s took effect with the same key", twice[i-1], twice[i])
			}
		}
	}
	return nil
}

// at returns the time of the decision of a command.
func (s *sim) at(a *attempt) time.Time { return at(s.oracle.requests[a.request][0]) }

func at(r eventstore.Recorded) time.Time {
	return reflect.ValueOf(r.Event).FieldByName("At").Interface().(time.Time)
}

func typesOf(events []eventstore.Recorded) string { return strings.Join(types(events), " ") }

// The sets of events that commands record.
const (
	leavesQueued    = "analysis.created credit.held video.analysis_opened"
	leavesCompleted = "analysis.completed credit.settled video.analysis_closed"
	leavesForFree   = "analysis.completed credit.released video.analysis_closed"
	leavesFailed    = "analysis.failed credit.released video.analysis_closed"
	leavesCanceled  = "analysis.canceled credit.released video.analysis_closed"
)

// withMeasure allows a set with and without video.measured, which records a decoded length that differs
// from the known one. A third of the videos have one.
func withMeasure(leaves string) []string { return []string{leaves, leaves + " video.measured"} }

func terminal(a analysis.State) bool { return a.Status.Terminal() }

func ready(v video.State) bool { return v.Status == video.ReadyStatus }
