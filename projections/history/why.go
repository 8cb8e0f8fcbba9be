package history

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"vqa/eventstore/postgres"
)

const (
	// maxFound is the largest number of events of one query.
	maxFound = 5_000
	// maxHops is how many times the streams named in payloads are followed.
	maxHops = 4
	// nearby is the range of positions around an event that is searched for events of the
	// same append. They are adjacent, except for events of concurrent writers.
	nearby = 64
)

// Explanation says how a subject came to its present state.
type Explanation struct {
	ID string `json:"id"`
	// Chains are the requests that changed the subject, the oldest first.
	Chains []Chain `json:"chains"`
	// Earlier is the number of older chains that were left out. For a long stream it covers
	// the last 5,000 events only.
	Earlier int `json:"earlier_chains"`
}

// Why explains an id with its newest chains, at most limit of them. Error: *UnknownError
// when the log has no event of it.
func (r *Reader) Why(ctx context.Context, of string, limit int) (Explanation, error) {
	subject, err := r.Resolve(ctx, of)
	if err != nil {
		return Explanation{}, err
	}
	seeds, err := r.seeds(ctx, subject)
	if err != nil {
		return Explanation{}, err
	}
	if len(seeds) == 0 {
		return Explanation{}, &UnknownError{of}
	}
	correlations := newestCorrelations(seeds)
	shown := correlations[:min(limit, len(correlations))]
	x := Explanation{ID: of, Chains: []Chain{}, Earlier: len(correlations) - len(shown)}
	for _, correlation := range slices.Backward(shown) {
		events, err := r.gather(ctx, correlation, seeds)
		if err != nil {
			return x, err
		}
		jobs, err := r.jobs(ctx, correlation, removedObjects(events))
		if err != nil {
			return x, err
		}
		c := r.chain(correlation, events, jobs)
		if c.Agent, err = r.agent(ctx, c.Actor); err != nil {
			return x, err
		}
		x.Chains = append(x.Chains, c)
	}
	return x, nil
}

// seeds returns the events of the subject.
func (r *Reader) seeds(ctx context.Context, s Subject) ([]postgres.Stored, error) {
	switch {
	case s.Position > 0:
		return r.log.Scan(ctx, postgres.Filter{After: s.Position - 1, Before: s.Position + 1}, 1, false)
	case len(s.Streams) == 0:
		return r.search(ctx, postgres.Filter{RequestID: s.ID})
	case s.Version > 0:
		return r.log.Scan(ctx, postgres.Filter{Streams: []string{s.Streams[0].String()}, AfterVersion: s.Version - 1}, 1, false)
	}
	return r.log.Scan(ctx, postgres.Filter{Streams: names(s), Mentions: s.MemberID}, maxFound, true)
}

func names(s Subject) []string {
	out := make([]string, len(s.Streams))
	for i, stream := range s.Streams {
		out[i] = stream.String()
	}
	return out
}

// correlation returns the id that all events of a chain share. It is empty for an event
// without a request.
func correlation(e postgres.Stored) string {
	m := e.ParsedMeta()
	return cmp.Or(m.CorrelationID, m.RequestID)
}

// newestCorrelations returns the correlations of events, that of the newest event first.
// Events without one share the correlation "".
func newestCorrelations(events []postgres.Stored) []string {
	var all []string
	for _, e := range slices.Backward(events) {
		if c := correlation(e); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// gather returns the events of a chain, ordered by position. It starts from the given
// events.
func (r *Reader) gather(ctx context.Context, of string, seeds []postgres.Stored) ([]postgres.Stored, error) {
	found := map[int64]postgres.Stored{}
	for _, e := range seeds {
		if correlation(e) == of {
			found[e.Position] = e
		}
	}
	if of == "" {
		return inOrder(found), nil
	}
	searched := map[string]bool{}
	for range maxHops {
		all := inOrder(found)
		names, err := r.outcomeStreams(ctx, all)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			names = append(append(names, mentionedStreams(e)...), e.Stream)
		}
		var streams []string
		for _, name := range names {
			if !searched[name] {
				searched[name] = true
				streams = append(streams, name)
			}
		}
		if len(streams) == 0 {
			break
		}
		filters := []postgres.Filter{
			{Streams: streams, Correlations: []string{of}},
			{After: max(0, all[0].Position-nearby), Before: all[0].Position + nearby, Correlations: []string{of}},
		}
		for _, f := range filters {
			more, err := r.log.Scan(ctx, f, maxFound, false)
			if err != nil {
				return nil, err
			}
			for _, e := range more {
				found[e.Position] = e
			}
		}
	}
	return inOrder(found), nil
}

func inOrder(found map[int64]postgres.Stored) []postgres.Stored {
	all := make([]postgres.Stored, 0, len(found))
	for _, e := range found {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b postgres.Stored) int { return cmp.Compare(a.Position, b.Position) })
	return all
}

// mentionedStreams returns the streams of all ids in an event, including its account.
func mentionedStreams(e postgres.Stored) []string {
	ids := []string{e.AccountID}
	var data any
	decoder := json.NewDecoder(bytes.NewReader(e.Data))
	decoder.UseNumber()
	if decoder.Decode(&data) == nil {
		ids = appendStrings(ids, data)
	}
	var streams []string
	for _, id := range ids {
		for _, s := range streamsOf(id) {
			streams = append(streams, s.String())
		}
	}
	return streams
}

// maxIDLength excludes longer texts, which cannot be ids.
const maxIDLength = 64

func appendStrings(to []string, value any) []string {
	switch v := value.(type) {
	case string:
		if len(v) <= maxIDLength && !strings.ContainsAny(v, " /") {
			to = append(to, v)
		}
	case []any:
		for _, x := range v {
			to = appendStrings(to, x)
		}
	case map[string]any:
		for _, x := range v {
			to = appendStrings(to, x)
		}
	}
	return to
}

// removedObjects returns the objects that the deletions among the events leave to a job.
func removedObjects(events []postgres.Stored) []string {
	var keys []string
	for _, e := range events {
		if key := removedObject(e); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

func removedObject(e postgres.Stored) string {
	var data struct {
		ObjectKey string `json:"object_key"`
	}
	if e.Type != "video.deleted" || json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	return data.ObjectKey
}
