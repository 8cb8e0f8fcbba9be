package history

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"vqa/domain/credit"
	"vqa/domain/grant"
	"vqa/domain/id"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
)

// Chain is everything that one request caused.
type Chain struct {
	CorrelationID string `json:"correlation_id"`
	RequestID     string `json:"request_id"`
	// Actor made the request, according to the first event of the request.
	Actor string `json:"actor"`
	// Agent is the program that made the request with a person's permission, or nil.
	Agent *Agent `json:"agent,omitempty"`
	// BeganAt is the time in the id of the request. If the id has none, it is the time of
	// the first event.
	BeganAt         time.Time `json:"began_at"`
	EndedAt         time.Time `json:"ended_at"`
	DurationSeconds float64   `json:"duration_seconds"`
	// Steps are the direct results of the request. Each step contains its own results.
	Steps []*Step `json:"steps"`
}

// Agent is a program that a person allowed to use the agent tools.
type Agent struct {
	GrantID  string `json:"grant_id"`
	ClientID string `json:"client_id"`
	// Name is the name that the program gave itself. It may be empty.
	Name string `json:"name,omitempty"`
}

// agent returns the program behind an actor, or nil if the actor is not a grant.
func (r *Reader) agent(ctx context.Context, actor string) (*Agent, error) {
	if !id.Valid(id.Grant, actor) {
		return nil, nil
	}
	events, err := r.log.LoadAll(ctx, fold.Grant.Stream(actor))
	if err != nil {
		return nil, fmt.Errorf("read the grant of an agent: %w", err)
	}
	g, err := fold.Grant.Fold(grant.State{}, events...)
	if err != nil || !g.Exists() {
		return nil, err
	}
	return &Agent{GrantID: g.ID, ClientID: g.ClientID, Name: g.ClientName}, nil
}

// Step is one event or one job. Exactly one of the two is set.
type Step struct {
	At time.Time `json:"at"`
	// AfterSeconds is the time since the step before: the previous step in the same list,
	// or the parent.
	AfterSeconds float64 `json:"after_seconds"`
	Event        *Event  `json:"event,omitempty"`
	Job          *Job    `json:"job,omitempty"`
	Steps        []*Step `json:"steps,omitempty"`
}

// Event is an event of the log with its ledger entry.
type Event struct {
	postgres.Stored
	Entry *Entry `json:"ledger_entry,omitempty"`
}

// Entry is the ledger entry of a credit event.
type Entry struct {
	TransactionID string           `json:"transaction_id,omitempty"`
	Kind          credit.Kind      `json:"kind,omitempty"`
	Postings      []credit.Posting `json:"postings"`
	// BalanceAfter is the posted balance, if the event contains it.
	BalanceAfter *int64 `json:"balance_after,omitempty"`
}

// chain builds the tree of a chain from its events, in order, and its jobs.
func (r *Reader) chain(correlation string, events []postgres.Stored, jobs []Job) Chain {
	first := events[0].ParsedMeta()
	c := Chain{CorrelationID: correlation, RequestID: first.RequestID, Actor: first.Actor}
	c.BeganAt = began(first.RequestID, events[0].RecordedAt)
	t := tree{
		root: &Step{At: c.BeganAt}, events: map[string]*Step{}, work: map[string][]*Step{}, current: map[string]*Step{},
		jobs: jobs, placed: make([]bool, len(jobs)),
	}
	for _, e := range events {
		t.addEvent(e, r.entry(e))
	}
	t.addJobs("", "")
	t.root.measure()
	c.Steps = t.root.Steps
	if c.Steps == nil {
		c.Steps = []*Step{}
	}
	c.EndedAt = t.root.end()
	c.DurationSeconds = seconds(c.EndedAt.Sub(c.BeganAt))
	return c
}

// tree is a chain under construction.
type tree struct {
	root *Step
	// events are the steps of events by their causation id, "position:N". work are the jobs
	// that an event caused. current is the job that reported last.
	events  map[string]*Step
	work    map[string][]*Step
	current map[string]*Step
	jobs    []Job
	placed  []bool
}

func (t *tree) addEvent(e postgres.Stored, entry *Entry) {
	step := &Step{At: e.RecordedAt, Event: &Event{Stored: e, Entry: entry}}
	parent := t.parent(e)
	parent.Steps = append(parent.Steps, step)
	own := "position:" + strconv.FormatInt(e.Position, 10)
	t.events[own] = step
	t.addJobs(own, removedObject(e))
}

// addJobs adds the jobs of a cause below its event. An empty cause adds all remaining jobs
// below the request.
func (t *tree) addJobs(cause, object string) {
	for i, j := range t.jobs {
		mine := cause == "" || j.causation == cause || object != "" && j.object == object
		if t.placed[i] || !mine {
			continue
		}
		t.placed[i] = true
		step := &Step{At: j.CreatedAt, Job: &t.jobs[i]}
		below := t.root
		if e := t.events[cause]; e != nil {
			below = e
		}
		below.Steps = append(below.Steps, step)
		t.work[cause] = append(t.work[cause], step)
	}
}

// parent returns the step that caused an event: a job of its cause, the causing event, or
// the request.
func (t *tree) parent(e postgres.Stored) *Step {
	cause := e.ParsedMeta().CausationID
	below, known := t.events[cause]
	if !known {
		return t.root
	}
	if job := t.reportingJob(cause, e); job != nil {
		t.current[cause] = job
		return job
	}
	return below
}

// reportingJob returns the job that reported an event. It is the job of the attempt that
// the event names, or else the last reporting job. Without one it is the last job that had
// started.
func (t *tree) reportingJob(cause string, e postgres.Stored) *Step {
	var named struct {
		Attempt int `json:"attempt"`
	}
	if err := json.Unmarshal(e.Data, &named); err == nil && named.Attempt > 0 {
		for _, s := range t.work[cause] {
			if s.Job.Attempt == named.Attempt {
				return s
			}
		}
	}
	if s := t.current[cause]; s != nil {
		return s
	}
	var last *Step
	for _, s := range t.work[cause] {
		if begun := s.Job.AttemptedAt; begun != nil && !begun.After(e.RecordedAt.Add(clockSkew)) {
			last = s
		}
	}
	return last
}

// clockSkew is the assumed difference between the clocks of a worker and the database.
const clockSkew = time.Second

// measure sets AfterSeconds of all steps below.
func (s *Step) measure() {
	before := s.At
	for _, next := range s.Steps {
		next.AfterSeconds = seconds(next.At.Sub(before))
		next.measure()
		before = next.At
	}
}

// end returns the time of the last step here or below.
func (s *Step) end() time.Time {
	last := s.At
	if s.Job != nil && s.Job.FinalizedAt != nil && s.Job.FinalizedAt.After(last) {
		last = *s.Job.FinalizedAt
	}
	for _, below := range s.Steps {
		if at := below.end(); at.After(last) {
			last = at
		}
	}
	return last
}

// seconds converts a duration, rounded to the microseconds that Postgres stores.
func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// longestRequest is the longest assumed time between a request and its first event.
const longestRequest = time.Hour

// began returns the time in the id of a request, which is a ULID if the service made it.
// For an id from a caller it returns the time of the first event.
func began(requestID string, first time.Time) time.Time {
	_, rest, _ := strings.Cut(requestID, "_")
	u, err := ulid.ParseStrict(rest)
	if err != nil {
		return first
	}
	at := ulid.Time(u.Time()).UTC()
	if at.After(first) || first.Sub(at) > longestRequest {
		return first
	}
	return at
}

// entry returns the ledger entry of a credit event, or nil.
func (r *Reader) entry(e postgres.Stored) *Entry {
	decoded, err := r.codec.Unmarshal(e.Type, e.Data)
	if err != nil {
		return nil
	}
	event, ok := decoded.(credit.Event)
	if !ok {
		return nil
	}
	entry := &Entry{Postings: append([]credit.Posting{}, credit.Postings(event)...)}
	switch c := event.(type) {
	case credit.Granted:
		entry.TransactionID, entry.Kind, entry.BalanceAfter = c.TransactionID, c.Kind, &c.BalanceAfter
	case credit.Settled:
		entry.TransactionID, entry.Kind, entry.BalanceAfter = c.TransactionID, c.Kind, &c.BalanceAfter
	case credit.Refunded:
		entry.TransactionID, entry.Kind, entry.BalanceAfter = c.TransactionID, credit.Adjustment, &c.BalanceAfter
	}
	return entry
}
