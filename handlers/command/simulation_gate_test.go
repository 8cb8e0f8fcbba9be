package command

import (
	"context"
	"fmt"
	"time"

	"vqa/domain/video"
	"vqa/eventstore"
)

// gate is between a node and the log. Each call waits there until the scheduler chooses it. The
// scheduler runs the call itself, so that only one call runs at a time.
type gate struct {
	eventstore.Store
	node *node
}

// call is one call at the gate.
type call struct {
	node *node
	what string
	// by is the number of the command that waits for the call, or 0 when a lane waits.
	by int
	do func(context.Context) error
	// ctx is the context of the node.
	ctx    context.Context
	answer chan error
	// carried is true when the call has taken effect and its response, err, is not delivered.
	carried bool
	err     error
}

type attemptKey struct{}

// pass waits until the scheduler has run do.
func (n *node) pass(ctx context.Context, what string, do func(context.Context) error) error {
	if n.dead.Load() {
		return errDead
	}
	if n.sim.calm.Load() {
		return do(ctx)
	}
	by, _ := ctx.Value(attemptKey{}).(int)
	c := &call{node: n, what: what, by: by, do: do, ctx: ctx, answer: make(chan error, 1)}
	n.sim.mu.Lock()
	n.sim.arrived = append(n.sim.arrived, c)
	n.sim.mu.Unlock()
	return <-c.answer
}

const (
	loading   = "load"
	appending = "append"
	reading   = "read"
	probing   = "probe"
)

// Load implements eventstore.Store.
func (g *gate) Load(ctx context.Context, ids ...eventstore.StreamID) (h map[eventstore.StreamID]eventstore.History, err error) {
	err = g.node.pass(ctx, loading, func(ctx context.Context) (err error) {
		h, err = g.Store.Load(ctx, ids...)
		for _, one := range h {
			if one.Snapshot != nil {
				g.node.sim.met["snapshot loaded"]++
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// ReadStream implements eventstore.Store.
func (g *gate) ReadStream(ctx context.Context, stream eventstore.StreamID, after int64, limit int) (page []eventstore.Recorded, err error) {
	err = g.node.pass(ctx, reading, func(ctx context.Context) (err error) {
		page, err = g.Store.ReadStream(ctx, stream, after, limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// Append implements eventstore.Store.
func (g *gate) Append(ctx context.Context, b eventstore.Batch) (recorded []eventstore.Recorded, err error) {
	err = g.node.pass(ctx, appending, func(ctx context.Context) (err error) {
		recorded, err = g.Store.Append(ctx, b)
		if requests := requestsOf(b); len(requests) > 1 {
			g.node.sim.met["group of several"]++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return recorded, nil
}

// Receipt implements eventstore.Store.
func (g *gate) Receipt(ctx context.Context, accountID, key string, now time.Time) (r eventstore.Receipt, found bool, err error) {
	err = g.node.pass(ctx, reading, func(ctx context.Context) (err error) {
		r, found, err = g.Store.Receipt(ctx, accountID, key, now)
		return err
	})
	if err != nil {
		return eventstore.Receipt{}, false, err
	}
	return r, found, nil
}

// saveTimeout is a deadline as the API has one. A response must not be saved hours later, when the key
// may belong to another request.
const saveTimeout = 5 * time.Second

// SaveResponse implements eventstore.Store.
func (g *gate) SaveResponse(ctx context.Context, accountID, key string, status int, body []byte) error {
	deadline := g.node.sim.clock.Now().Add(saveTimeout)
	return g.node.pass(ctx, reading, func(ctx context.Context) error {
		if g.node.sim.clock.Now().After(deadline) {
			return context.DeadlineExceeded
		}
		return g.Store.SaveResponse(ctx, accountID, key, status, body)
	})
}

// gatedUploads is an object store behind the same gate.
type gatedUploads struct{ *node }

func (g *gatedUploads) Room(int64) error { return nil }

func (g *gatedUploads) Inspect(ctx context.Context, v video.State) (f video.File, ticket string, err error) {
	err = g.pass(ctx, probing, func(context.Context) error { return nil })
	return fileOf(v.ID, v.ContentType), v.ID, err
}

func (g *gatedUploads) Keep(context.Context, string, string, string) error { return nil }
func (g *gatedUploads) Close(context.Context, string) error                { return nil }
func (g *gatedUploads) Discard(context.Context, string) error              { return nil }
func (g *gatedUploads) Remove(context.Context, string, string) error       { return nil }
func (g *gatedUploads) RemoveRecording(context.Context, string) error      { return nil }

// requestsOf returns the requests that have events in a batch.
func requestsOf(b eventstore.Batch) map[string]bool {
	requests := map[string]bool{}
	for _, w := range b.Writes {
		for _, e := range w.Events {
			requests[e.Meta.RequestID] = true
		}
	}
	return requests
}

func (c *call) String() string {
	s := fmt.Sprintf("%s of %s", c.what, c.node.name)
	if c.by > 0 {
		s += fmt.Sprintf(" for %d", c.by)
	}
	if c.carried {
		s += ", carried out"
	}
	return s
}
