package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/feed"
	"vqa/eventstore/node"
)

func replayCommand() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay SUBSCRIBER --from POSITION --to POSITION",
		Short: "Deliver a part of the log to a subscriber again",
		Long: `Delivers the events from one position to another, both included, to a subscriber again. The events
keep their order, and the subscriber keeps its position. Events after that position are left out,
because they will be delivered anyway.

Handlers are idempotent. A job for an event is not enqueued twice while River still has it, which is
one day for a finished job. After that, the claim of work that is already done is refused.

The running service delivers the events between the batches of new events, so a replay never runs
beside a live delivery. Without a running service the replay waits for one. The command shows the
progress. Ctrl-C ends the command, not the replay; --cancel ends the replay. An event that fails is
parked (vqa events parked), and the replay continues.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return misuse(cmd, err)
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				if err := a.subscriptions().MustKnow(ctx, args[0], subscriberNames()...); err != nil {
					return err
				}
				if o.cancel {
					return a.cancelReplays(ctx, cmd, args[0])
				}
				request := feed.ReplayRequest{Subscriber: args[0], From: o.from, To: o.to, By: operator()}
				return a.redeliver(ctx, cmd, request, o)
			})
		},
	}
	flags := cmd.Flags()
	flags.Int64Var(&o.from, "from", 0, "first position")
	flags.Int64Var(&o.to, "to", 0, "last position")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only count the events")
	flags.BoolVar(&o.cancel, "cancel", false, "end the open replays of the subscriber")
	flags.BoolVar(&o.detach, "detach", false, "do not wait for the end")
	return printing(cmd, "SUBSCRIBER")
}

// replayOptions holds the flags of the subcommands that deliver events again.
type replayOptions struct {
	from, to               int64
	dryRun, cancel, detach bool
}

func (o replayOptions) check() error {
	switch {
	case o.cancel && (o.from != 0 || o.to != 0 || o.dryRun):
		return errors.New("--cancel cannot be combined with --from, --to or --dry-run")
	case !o.cancel && (o.from < 1 || o.to < o.from):
		return errors.New("--from and --to are required: the first and the last position, starting at 1")
	}
	return nil
}

// redeliver requests a replay. When a service runs, it shows the progress until the end.
func (a *app) redeliver(ctx context.Context, cmd *cobra.Command, request feed.ReplayRequest, o replayOptions) error {
	if o.dryRun {
		counts, err := a.subscriptions().Preview(ctx, request)
		if err != nil {
			return err
		}
		return printPreview(cmd, counts)
	}
	r, err := a.subscriptions().Replay(ctx, request)
	if err != nil {
		return err
	}
	running, err := node.Count(ctx, a.pool)
	if err != nil {
		return err
	}
	if running > 0 && !o.detach {
		if r, err = a.awaitReplay(ctx, cmd.ErrOrStderr(), r); err != nil {
			return err
		}
	}
	if err := show(cmd, r, func(s terminal.Screen, r feed.Replay) { fmt.Fprintln(s, replayOutcome(r, running)) }); err != nil {
		return err
	}
	return failing(r.Failed > 0)
}

// replayPoll is the interval at which the progress of a replay is read.
const replayPoll = 100 * time.Millisecond

// awaitReplay shows a replay until it is finished or ctx ends.
func (a *app) awaitReplay(ctx context.Context, progressTo io.Writer, r feed.Replay) (feed.Replay, error) {
	bar := terminal.NewProgress(progressTo, "replaying", "events")
	defer bar.Finish()
	tick := time.NewTicker(replayPoll)
	defer tick.Stop()
	for r.FinishedAt == nil {
		select {
		case <-ctx.Done():
			return r, nil
		case <-tick.C:
		}
		next, err := a.subscriptions().ReplayProgress(ctx, r.ID)
		switch {
		case ctx.Err() != nil:
			return r, nil // Ctrl-C ends the command, not the replay
		case err != nil:
			return r, err
		}
		r = next
		bar.Set(r.Delivered, r.Events)
	}
	return r, nil
}

func replayOutcome(r feed.Replay, running int) string {
	what := fmt.Sprintf("Replay %d to %s", r.ID, r.Subscriber)
	switch {
	case r.Canceled:
		return fmt.Sprintf("%s was canceled after %d of %s.", what, r.Delivered, counted(r.Events, "event"))
	case r.FinishedAt != nil && r.Failed > 0:
		return fmt.Sprintf("%s delivered %s; %d failed and are parked.", what, counted(r.Delivered, "event"), r.Failed)
	case r.FinishedAt != nil:
		return fmt.Sprintf("%s delivered %s.", what, counted(r.Delivered, "event"))
	case running == 0:
		return fmt.Sprintf("%s has %s and waits: no service is running.", what, counted(r.Events, "event"))
	}
	return fmt.Sprintf("%s delivered %d of %s so far and continues (vqa events subscribers).", what, r.Delivered, counted(r.Events, "event"))
}

func printPreview(cmd *cobra.Command, counts map[string]int64) error {
	var total int64
	t := terminal.Table{{"TYPE", "EVENTS"}}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		total += counts[kind]
		t = append(t, []string{kind, terminal.Thousands(counts[kind])})
	}
	return show(cmd, map[string]any{"events": total, "types": counts}, func(s terminal.Screen, _ map[string]any) {
		fmt.Fprintf(s, "  %s to deliver again\n\n", s.Paint(terminal.Bold, counted(total, "event")))
		t.Print(s)
	})
}

func (a *app) cancelReplays(ctx context.Context, cmd *cobra.Command, group string) error {
	canceled, err := a.subscriptions().CancelReplays(ctx, group)
	if err != nil {
		return err
	}
	return show(cmd, canceled, func(s terminal.Screen, canceled []feed.Replay) {
		for _, r := range canceled {
			fmt.Fprintln(s, replayOutcome(r, 0))
		}
		if len(canceled) == 0 {
			fmt.Fprintf(s, "%s has no open replay.\n", group)
		}
	})
}
