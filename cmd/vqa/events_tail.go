package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
)

// tailPage is the number of events in one read. tailPoll is the interval of reads without a
// notification. tailTries is the number of failed reads in a row after which the command ends.
const (
	tailPage  = 500
	tailPoll  = 2 * time.Second
	tailTries = 30
)

func eventsTailCommand() *cobra.Command {
	var f eventFilter
	var from int64
	var last int
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Follow the log until Ctrl-C",
		Long: `Prints the last events that match, and then each new event when it is committed, in the order of the log
and without gaps, until Ctrl-C. With --from it starts at a position instead; after an interruption,
give the position after the last printed event. When the database is down for a while, the command
continues where it stopped. With --json each event is one line.

` + filterHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.check()
			if err == nil && (from < 0 || last < 0 || last > maxListed) {
				err = fmt.Errorf("--from must not be negative, --last must be from 0 to %d", maxListed)
			}
			if err != nil {
				return misuse(cmd, err)
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				filter, err := f.filter(ctx, a.history(), a.clock.Now())
				if err != nil {
					return err
				}
				t := tail{app: a, filter: filter, out: cmd.OutOrStdout(), json: asJSON(cmd), done: from - 1}
				if from == 0 {
					err = t.begin(ctx, last)
				}
				if err == nil {
					err = t.follow(ctx)
				}
				if ctx.Err() != nil {
					return nil //nolint:nilerr // Ctrl-C is the normal end
				}
				return err
			})
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.Int64Var(&from, "from", 0, "start at this position")
	flags.IntVar(&last, "last", 10, "number of past events to print first")
	flags.Bool("json", false, "print a line of JSON for each event")
	cmd.MarkFlagsMutuallyExclusive("from", "last")
	return strict(cmd)
}

// tail follows the log.
type tail struct {
	*app
	filter postgres.Filter
	out    io.Writer
	json   bool
	// done is the position up to which all events that match were printed.
	done int64
}

// begin prints the last events before the live ones.
func (t *tail) begin(ctx context.Context, last int) error {
	settled, err := t.store.Settled(ctx)
	if err != nil {
		return err
	}
	t.done = settled
	if last == 0 || settled == 0 {
		return nil
	}
	f := t.filter
	if f.Before == 0 || f.Before > settled {
		f.Before = settled + 1
	}
	events, err := t.store.Scan(ctx, f, last, true)
	if err != nil {
		return err
	}
	return printEvents(t.out, events, t.json)
}

// follow prints new events until ctx ends, or until the filter's last position is passed.
func (t *tail) follow(ctx context.Context) error {
	listener := feed.New(t.pool, t.codec, t.log)
	wake, stop := listener.Watch()
	defer stop()
	listening, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	running.Go(func() {
		// The listener logs a lost connection, and polling continues without it.
		_ = listener.Run(listening)
	})
	poll := time.NewTicker(tailPoll)
	defer poll.Stop()
	for failures := 0; ; {
		err := t.catchUp(ctx)
		switch failures++; {
		case err == nil:
			failures = 0
		case ctx.Err() != nil || failures == tailTries:
			return err
		default:
			t.log.Warn("could not read the log; trying again", "error", err)
		}
		if t.filter.Before > 0 && t.done >= t.filter.Before-1 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-poll.C:
		}
	}
}

// catchUp prints the events that match, up to the settled end of the log.
func (t *tail) catchUp(ctx context.Context) error {
	settled, err := t.store.Settled(ctx)
	if err != nil {
		return err
	}
	for t.done < settled {
		f := t.filter
		f.After = max(f.After, t.done)
		if f.Before == 0 || f.Before > settled {
			f.Before = settled + 1
		}
		events, err := t.store.Scan(ctx, f, tailPage, false)
		if err != nil {
			return err
		}
		if err := printEvents(t.out, events, t.json); err != nil {
			return err
		}
		if len(events) < tailPage {
			t.done = settled
			break
		}
		t.done = events[len(events)-1].Position
	}
	return nil
}
