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
	// maxFound bounds the events of one look-up.
	maxFound = 5_000
	// maxHops bounds how far the streams that payloads name are followed.
	maxHops = 4
	// nearby is how far around an event its companions are looked for: an append places
	// its events side by side, save for those of other writers in between.
	nearby = 64
)

// Explanation is why what an id names is as it is.
type Explanation struct {
	ID string `json:"id"`
	// Chains are what one request each led to, the oldest first.
	Chains []Chain `json:"chains"`
	// Earlier counts the older chains that were left out, as far as the last 5,000 events
	// of a long stream tell.
	Earlier int `json:"earlier_chains"`
}

// Why explains an id by its newest chains, at most limit of them. Error: *UnknownError
// when the log holds nothing of it.
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
		x.Chains = append(x.Chains, r.chain(correlation, events, jobs))
	}
	return x, nil
}

// seeds are the events that the question is about.
func (r *Reader) seeds(ctx context.Context, s Subject) ([]postgres.Stored, error) {
	switch {
	case s.Position > 0:
		return r.log.Scan(ctx, postgres.Filter{After: s.Position - 1, Before: s.Position + 1}, 1, false)
	case len(s.Streams) == 0:
		return r.search(ctx, postgres.Filter{RequestID: s.ID})
	case s.Version > 0:
		return r.log.Scan(ctx, postgres.Filter{Streams: []string{s.Streams[0].String()}, AfterVersion: s.Version - 1}, 1, false)
	}
	return r.log.Scan(ctx, postgres.Filter{Streams: names(s), Mentions: s.KeyID}, maxFound, true)
}

func names(s Subject) []string {
	out := make([]string, len(s.Streams))
	for i, stream := range s.Streams {
		out[i] = stream.String()
	}
	return out
}

// correlation is what joins an event with its chain: every event has a request or
// stands alone.
func correlation(e postgres.Stored) string {
	m := e.ParsedMeta()
	return cmp.Or(m.CorrelationID, m.RequestID)
}

// newestCorrelations are those of the events, that of the newest event first. An event
// without any has the chain "".
func newestCorrelations(events []postgres.Stored) []string {
	var all []string
	for _, e := range slices.Backward(events) {
		if c := correlation(e); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// gather finds the events of a chain, beginning with those at hand, in the order of
// their positions.
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
	looked := map[string]bool{}
	for range maxHops {
		all := inOrder(found)
		var streams []string
		for _, e := range all {
			for _, name := range append(mentionedStreams(e), e.Stream) {
				if !looked[name] {
					looked[name] = true
					streams = append(streams, name)
				}
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

// mentionedStreams are those of the ids that an event names, its account's among them.
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

// maxIDLength excludes texts that are no ids.
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

// removedObjects are the objects that deletions among the events leave to a job.
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
