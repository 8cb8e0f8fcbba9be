package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"vqa/domain/fault"
	"vqa/domain/incident"
	"vqa/handlers/command"
)

const (
	// outageCheckEvery is the longest time between two checks of the engine.
	outageCheckEvery = 5 * time.Second
	// outageTitle is the title of the incident.
	outageTitle = "The inference engine does not answer."
	// maxOutages bounds the open incidents that are read. Each node opens at most one.
	maxOutages = 100
)

// OpenIncidents lists platform incidents.
type OpenIncidents interface {
	// Incidents lists up to limit of them, newest first; only open ones when open is true.
	Incidents(ctx context.Context, open bool, limit int) ([]incident.State, error)
}

// Outages opens an incident while this node's engine does not answer, and closes it when
// the engine answers again. An analysis that fails during an incident may be run again for
// free.
type Outages struct {
	// Ready returns nil when the engine answers. The fault capacity_exhausted is an answer
	// too.
	Ready    func(ctx context.Context) error
	Commands *command.Service
	Read     OpenIncidents
	Nodes    Nodes
	// Patience is that of the Analyzer. An engine that does not answer for half of it is an
	// incident. A worker that is restarted is back sooner, and no analysis fails sooner.
	Patience time.Duration
	// Node is the name of this node.
	Node string
	Now  func() time.Time
	Log  *slog.Logger

	// downSince is the time of the first failed check; zero while the engine answers.
	downSince time.Time
}

// after is how long the engine must not answer before there is an incident.
func (o *Outages) after() time.Duration { return cmp.Or(o.Patience, defaultPatience) / 2 }

// Run checks every 5 seconds, or more often when the patience is short, until ctx ends.
func (o *Outages) Run(ctx context.Context) {
	ticker := time.NewTicker(min(outageCheckEvery, max(o.after()/4, 100*time.Millisecond)))
	defer ticker.Stop()
	for {
		if err := o.Check(ctx); err != nil && ctx.Err() == nil {
			o.Log.Error("checking for an outage failed", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Check makes one check. It opens an incident when the engine has not answered for too
// long. It closes those of nodes whose engine answers again or that are gone.
func (o *Outages) Check(ctx context.Context) error {
	away := o.Ready(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	open, err := o.open(ctx)
	if err != nil {
		return err
	}
	if away == nil || fault.Has(away, fault.CapacityExhausted) { // an engine without room answers
		o.downSince = time.Time{}
		return o.end(ctx, open)
	}
	now := o.Now()
	if o.downSince.IsZero() {
		o.downSince = now
	}
	own := func(i incident.State) bool { return i.Node == o.Node }
	if now.Sub(o.downSince) < o.after() || slices.ContainsFunc(open, own) {
		return nil
	}
	reported, err := o.Commands.ReportOutage(ctx, outageTitle, o.Node)
	if err != nil {
		return fmt.Errorf("open an incident: %w", err)
	}
	o.Log.Warn("the engine does not answer: an incident is open", "incident_id", reported.ID, "error", away)
	return nil
}

// open are the open incidents that nodes opened by themselves.
func (o *Outages) open(ctx context.Context) ([]incident.State, error) {
	all, err := o.Read.Incidents(ctx, true, maxOutages)
	if err != nil {
		return nil, fmt.Errorf("read the open incidents: %w", err)
	}
	return slices.DeleteFunc(all, func(i incident.State) bool { return i.Node == "" }), nil
}

// end closes the incidents of this node and of nodes that are gone.
func (o *Outages) end(ctx context.Context, open []incident.State) error {
	if len(open) == 0 {
		return nil
	}
	alive, err := o.Nodes.Alive(ctx)
	if err != nil {
		return fmt.Errorf("read which nodes are alive: %w", err)
	}
	var failed error
	for _, i := range open {
		if i.Node != o.Node && alive(i.Node) {
			continue
		}
		if _, err := o.Commands.EndOutage(ctx, i.ID); err != nil {
			failed = errors.Join(failed, fmt.Errorf("close incident %s: %w", i.ID, err))
			continue
		}
		o.Log.Info("the engine answers again: the incident is closed", "incident_id", i.ID)
	}
	return failed
}
