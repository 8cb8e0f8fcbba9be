package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/feed"
)

const parkedHelp = `When a subscriber fails to handle an event ten times, the event is parked with its error, and the
subscriber continues with the next event. Later events of the same stream may therefore be handled
before a parked event; LATER counts them.`

func parkedCommand() *cobra.Command {
	list := parkedListCommand()
	cmd := &cobra.Command{
		Use:   "parked",
		Short: "Show, retry or drop events that a subscriber failed to handle",
		Long:  parkedHelp,
		RunE:  list.RunE,
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, parkedShowCommand(), parkedRetryCommand(), parkedDropCommand())
	return strict(cmd)
}

func parkedListCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "list [SUBSCRIBER]",
		Short: "List parked events",
		Long:  parkedHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return showFrom(cmd, func(ctx context.Context, a *app) ([]feed.Parked, error) {
				return a.subscriptions().ParkedEvents(ctx, optional(args), 0)
			}, terminal.List(func(p feed.Parked) []string {
				return []string{
					p.Subscriber, fmt.Sprint(p.Position), p.Type, p.Stream, fmt.Sprint(p.Attempts), stamp(p.At), fmt.Sprint(p.LaterInStream), firstLine(p.Error, 60),
				}
			}, "SUBSCRIBER", "POSITION", "TYPE", "STREAM", "ATTEMPTS", "SINCE", "LATER", "ERROR"))
		},
	}, "[SUBSCRIBER]")
}

// firstLine is the first line of a text, cut at limit characters.
func firstLine(text string, limit int) string {
	line, rest, _ := strings.Cut(text, "\n")
	line = terminal.Printable(line)
	if runes := []rune(line); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	if rest != "" {
		return line + " …"
	}
	return line
}

// shownParked is a parked event with its payload.
type shownParked struct {
	feed.Parked
	Event shownEvent `json:"event"`
}

func parkedShowCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "show SUBSCRIBER POSITION",
		Short: "Show a parked event with its complete error",
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := parseEvent(args[1])
			if err != nil {
				return misuse(cmd, err)
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (shown shownParked, err error) {
				parked, err := a.parked(ctx, args[0], position)
				if err != nil {
					return shown, err
				}
				shown.Parked = parked[0]
				shown.Event, err = a.event(ctx, position)
				return shown, err
			}, func(s terminal.Screen, shown shownParked) {
				fmt.Fprintf(s, "parked for %s after %s, %s UTC; %s of its stream already handled\n%s\n\n",
					s.Paint(terminal.Bold, shown.Subscriber), counted(int64(shown.Attempts), "attempt"), stamp(shown.At),
					counted(shown.LaterInStream, "later event"), s.Paint(terminal.BoldRed, printableLines(shown.Error)))
				printShownEvent(s, shown.Event)
			})
		},
	}, "SUBSCRIBER", "POSITION")
}

// printableLines escapes a text and keeps its lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = terminal.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// positionOrAll reads the second argument. With all it returns 0.
func positionOrAll(args []string, all bool) (int64, error) {
	switch {
	case all && len(args) == 1:
		return 0, nil
	case all || len(args) == 1:
		return 0, errors.New("give either a POSITION or --all")
	}
	return parseEvent(args[1])
}

// parked returns the parked events of a subscriber at one position, or all of them when position is
// 0. It is an error when there are none.
func (a *app) parked(ctx context.Context, group string, position int64) ([]feed.Parked, error) {
	f := a.subscriptions()
	if err := f.MustKnow(ctx, group, subscriberNames()...); err != nil {
		return nil, err
	}
	parked, err := f.ParkedEvents(ctx, group, position)
	if err == nil && len(parked) == 0 {
		err = fmt.Errorf("%s has no parked events", group)
		if position > 0 {
			err = fmt.Errorf("%s has no parked event at position %d", group, position)
		}
	}
	return parked, err
}

func parkedRetryCommand() *cobra.Command {
	var o replayOptions
	var all bool
	cmd := &cobra.Command{
		Use:   "retry SUBSCRIBER POSITION | retry SUBSCRIBER --all",
		Short: "Deliver parked events again",
		Long: `Delivers one parked event again, or all parked events of a subscriber in order. An event that succeeds
leaves the list. An event that fails stays parked with its new error, and the exit status is 1. The
running service delivers the events, in the same way as a replay (vqa events replay --help).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := positionOrAll(args, all)
			if err != nil {
				return misuse(cmd, err)
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				parked, err := a.parked(ctx, args[0], position)
				if err != nil {
					return err
				}
				return a.redeliver(ctx, cmd, feed.ReplayRequest{
					Subscriber: args[0], From: parked[0].Position, To: parked[len(parked)-1].Position,
					OnlyParked: true, By: operator(),
				}, o)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "every parked event of the subscriber")
	flags.BoolVar(&o.dryRun, "dry-run", false, "only count the events")
	flags.BoolVar(&o.detach, "detach", false, "do not wait for the end")
	return printing(cmd, "SUBSCRIBER", "[POSITION]")
}

// dropped is the output of vqa events parked drop.
type dropped struct {
	Subscriber string `json:"subscriber"`
	Dropped    int64  `json:"dropped"`
}

func parkedDropCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "drop SUBSCRIBER POSITION | drop SUBSCRIBER --all",
		Short: "Remove parked events from the list; they stay in the log",
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := positionOrAll(args, all)
			if err != nil {
				return misuse(cmd, err)
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (dropped, error) {
				if _, err := a.parked(ctx, args[0], position); err != nil {
					return dropped{}, err
				}
				n, err := a.subscriptions().DropParked(ctx, args[0], position)
				return dropped{args[0], n}, err
			}, func(s terminal.Screen, d dropped) {
				fmt.Fprintf(s, "Dropped %s of %s.\n", counted(d.Dropped, "parked event"), d.Subscriber)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every parked event of the subscriber")
	return printing(cmd, "SUBSCRIBER", "[POSITION]")
}
