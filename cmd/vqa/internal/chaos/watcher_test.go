package chaos_test

import (
	"context"
	"net/http"
	"time"
)

const (
	readEvery   = 300 * time.Millisecond
	followEvery = time.Second
)

// watcher reads beside a customer: the newest analyses, and the feed of events by its cursor.
type watcher struct {
	*client
	key string
	// analyses is the last state of each analysis that was read.
	analyses map[string]seen
	// events are the ids in the order of the feed, oldest first.
	events []string
	bodies map[string]any // by id
}

type seen struct {
	status  string
	percent float64
}

func hasEnded(status string) bool {
	return status == "completed" || status == "failed" || status == "canceled"
}

// read reads the newest analyses until ctx ends. On all nodes, a terminal state never changes, and
// progress never falls.
func (w *watcher) read(ctx context.Context) {
	for until(ctx, time.Now().Add(readEvery)) == nil {
		got, err := w.do(ctx, request{method: http.MethodGet, path: "/v1/analyses?limit=20", key: w.key})
		if err != nil {
			return
		}
		if got.status != http.StatusOK {
			w.records.blame("list analyses: %d %s", got.status, got.raw)
		}
		list, _ := got.at("data").([]any)
		for _, a := range list {
			id, now := text(a, "id"), seen{text(a, "status"), number(a, "progress.percent")}
			before := w.analyses[id]
			if hasEnded(before.status) && now.status != before.status || !hasEnded(now.status) && now.percent < before.percent {
				w.records.blame("analysis %s was %v and is %v", id, before, now)
			}
			w.analyses[id] = now
		}
	}
}

// follow reads the feed until ctx ends.
func (w *watcher) follow(ctx context.Context) {
	for until(ctx, time.Now().Add(followEvery)) == nil {
		if w.catchUp(ctx) != nil {
			return
		}
	}
}

// catchUp reads all events that are newer than the last one.
func (w *watcher) catchUp(ctx context.Context) error {
	for {
		path := "/v1/events?limit=100"
		if len(w.events) > 0 {
			path += "&ending_before=" + w.events[len(w.events)-1]
		}
		got, err := w.do(ctx, request{method: http.MethodGet, path: path, key: w.key})
		if err != nil {
			return err
		}
		if got.status != http.StatusOK {
			w.records.blame("read the feed: %d %s", got.status, got.raw)
			return nil
		}
		list, _ := got.at("data").([]any)
		for i := len(list) - 1; i >= 0; i-- {
			id := text(list[i], "id")
			if _, twice := w.bodies[id]; twice {
				w.records.blame("the feed has %s twice", id)
			}
			w.events, w.bodies[id] = append(w.events, id), list[i]
		}
		if more, _ := got.at("has_more").(bool); !more {
			return nil
		}
		if len(w.events) == len(list) && len(list) > 0 {
			w.records.blame("the first page of the feed is not complete")
			return nil
		}
	}
}
