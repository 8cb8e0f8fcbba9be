package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/feed"
	"vqa/eventstore/node"
	"vqa/handlers/react"
	"vqa/handlers/webhook"
)

// subscriberNames returns the subscribers of this program.
func subscriberNames() []string { return []string{react.Group, webhook.Group} }

// shownSubscribers is the output of vqa events subscribers.
type shownSubscribers struct {
	// Head is the position up to which no event can be added any more.
	Head int64 `json:"head"`
	// Processes counts the running servers. Each of them serves every subscriber.
	Processes   int               `json:"processes"`
	Subscribers []feed.Subscriber `json:"subscribers"`
}

func subscribersCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "subscribers",
		Short: "Show the position of each subscriber of the log",
		Long: `Shows for each subscriber its position, the number of undelivered events and the age of the oldest of
them, the number of events that are set aside for another attempt or wait behind one, the number of
parked events, and its state:

  delivering  a server delivers events to it now
  waiting     a server runs and delivers the next events
  stopped     no server is running`,
		RunE: func(cmd *cobra.Command, _ []string) error { return showFrom(cmd, readSubscribers, printSubscribers) },
	})
}

func readSubscribers(ctx context.Context, a *app) (s shownSubscribers, err error) {
	if s.Head, err = a.store.Settled(ctx); err != nil {
		return s, err
	}
	if s.Processes, err = node.Count(ctx, a.pool); err != nil {
		return s, err
	}
	s.Subscribers, err = a.subscriptions().Subscribers(ctx, subscriberNames()...)
	return s, err
}

func printSubscribers(s terminal.Screen, all shownSubscribers) {
	running := "no service is running"
	if all.Processes > 0 {
		running = fmt.Sprintf("%d running", all.Processes)
	}
	fmt.Fprintf(s, "  the log ends at %s; %s\n\n", s.Paint(terminal.Bold, strconv.FormatInt(all.Head, 10)), running)
	terminal.List(func(x feed.Subscriber) []string {
		state, replay := "waiting", "-"
		switch {
		case x.Delivering:
			state = "delivering"
		case all.Processes == 0:
			state = "stopped"
		}
		if x.Replay != nil {
			replay = fmt.Sprintf("%d of %d", x.Replay.Delivered, x.Replay.Events)
		}
		return []string{
			x.Name, fmt.Sprint(x.Position), fmt.Sprint(x.LagEvents), lag(x.LagSeconds), fmt.Sprint(x.SetAside), fmt.Sprint(x.Parked), state, replay,
		}
	}, "SUBSCRIBER", "POSITION", "BEHIND", "BY", "SET ASIDE", "PARKED", "STATE", "REPLAY")(s, all.Subscribers)
}

// counted writes a number with its noun.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return terminal.Thousands(n) + " " + thing + "s"
}

// lag formats a delay in seconds.
func lag(s float64) string {
	if s == 0 {
		return "-"
	}
	return rough(time.Duration(s * float64(time.Second)))
}

// rough formats a duration with a few digits.
func rough(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1e3)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func resetCommand() *cobra.Command {
	var to string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "reset SUBSCRIBER --to POSITION|start|end",
		Short: "Set the position of a subscriber",
		Long: `Sets the position of a subscriber, which then continues with the event after POSITION. start delivers
the whole log again; end skips all recorded events. The command waits for the batch that is being
delivered. Skipped events are never delivered, except by vqa events replay.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := parsePosition(to)
			if err != nil {
				return misuse(cmd, err)
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (feed.Move, error) {
				return a.reset(ctx, args[0], position, dryRun)
			}, func(s terminal.Screen, m feed.Move) {
				done, effect := "moved", "nothing changes"
				if dryRun {
					done = "would move"
				}
				switch {
				case m.Again > 0:
					effect = "to deliver again: " + counted(m.Again, "event")
				case m.Skipped > 0:
					effect = "skipped: " + counted(m.Skipped, "event")
				}
				fmt.Fprintf(s, "%s %s from %d to %d; %s.\n", m.Subscriber, done, m.From, m.To, effect)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "last position that counts as delivered, or start or end")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show the effect")
	return printing(cmd, "SUBSCRIBER")
}

// endOfLog stands for "end" until the position is read from the log.
const endOfLog = -1

func parsePosition(text string) (int64, error) {
	switch text {
	case "start":
		return 0, nil
	case "end":
		return endOfLog, nil
	case "":
		return 0, errors.New("--to is required: a position, start or end")
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("--to must be a position, start or end, not %q", text)
	}
	return n, nil
}

func (a *app) reset(ctx context.Context, group string, to int64, dryRun bool) (feed.Move, error) {
	f := a.subscriptions()
	if err := f.MustKnow(ctx, group, subscriberNames()...); err != nil {
		return feed.Move{}, err
	}
	if to == endOfLog {
		settled, err := a.store.Settled(ctx)
		if err != nil {
			return feed.Move{}, err
		}
		to = settled
	}
	return f.Reset(ctx, group, to, dryRun)
}
