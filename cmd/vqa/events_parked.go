package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [SUBSCRIBER]",
		Short: "List parked events",
		Long:  parkedHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			group := ""
			if len(args) > 0 {
				group = args[0]
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				parked, err := a.subscriptions().ParkedEvents(ctx, group, 0)
				if err != nil {
					return err
				}
				return printParked(cmd.OutOrStdout(), parked, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "[SUBSCRIBER]")
}

func printParked(out io.Writer, parked []feed.Parked, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, parked)
	}
	s := terminal.NewScreen(out)
	t := terminal.Table{{"SUBSCRIBER", "POSITION", "TYPE", "STREAM", "ATTEMPTS", "SINCE", "LATER", "ERROR"}}
	for _, p := range parked {
		t = append(t, []string{
			p.Subscriber, strconv.FormatInt(p.Position, 10), p.Type, p.Stream, strconv.Itoa(p.Attempts),
			stamp(p.At), strconv.FormatInt(p.LaterInStream, 10), firstLine(p.Error, 60),
		})
	}
	t.Print(s)
	return nil
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
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SUBSCRIBER POSITION",
		Short: "Show a parked event with its complete error",
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := onePosition(args)
			if err != nil {
				return misuse(cmd, err)
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				parked, err := a.parked(ctx, args[0], position)
				if err != nil {
					return err
				}
				shown := shownParked{Parked: parked[0]}
				if shown.Event, err = a.event(ctx, position); err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), shown)
				}
				s := terminal.NewScreen(cmd.OutOrStdout())
				fmt.Fprintf(s, "parked for %s after %s, %s UTC; %s of its stream already handled\n%s\n\n",
					s.Paint(terminal.Bold, shown.Subscriber), counted(int64(shown.Attempts), "attempt"), stamp(shown.At),
					counted(shown.LaterInStream, "later event"), s.Paint(terminal.BoldRed, printableLines(shown.Error)))
				return printShownEvent(s, shown.Event)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "SUBSCRIBER", "POSITION")
}

// printableLines escapes a text and keeps its lines.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = terminal.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// onePosition reads the second argument.
func onePosition(args []string) (int64, error) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("POSITION must be a whole number above 0, not %q", args[1])
	}
	return n, nil
}

// positionOrAll reads the second argument. With all it returns 0.
func positionOrAll(args []string, all bool) (int64, error) {
	switch {
	case all && len(args) == 1:
		return 0, nil
	case all || len(args) == 1:
		return 0, errors.New("give either a POSITION or --all")
	}
	return onePosition(args)
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
	flags.BoolVar(&o.json, "json", false, "print JSON")
	return strict(cmd, "SUBSCRIBER", "[POSITION]")
}

func parkedDropCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "drop SUBSCRIBER POSITION | drop SUBSCRIBER --all",
		Short: "Remove parked events from the list; they stay in the log",
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := positionOrAll(args, all)
			if err != nil {
				return misuse(cmd, err)
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				if _, err := a.parked(ctx, args[0], position); err != nil {
					return err
				}
				n, err := a.subscriptions().DropParked(ctx, args[0], position)
				if err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), map[string]any{"subscriber": args[0], "dropped": n})
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Dropped %s of %s.\n", counted(n, "parked event"), args[0])
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every parked event of the subscriber")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "SUBSCRIBER", "[POSITION]")
}
