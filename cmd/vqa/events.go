package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
	"vqa/projections/history"
)

func eventsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Read the log of events, and steer its subscribers",
		Long: `Reads the log of events, and steers its subscribers. Everything works beside a running
service and without one.`,
	}
	cmd.AddCommand(
		eventsListCommand(), eventsTailCommand(), eventsShowCommand(), eventsStatsCommand(),
		subscribersCommand(), resetCommand(), replayCommand(), parkedCommand(),
	)
	return cmd
}

// filterHelp describes the flags of eventFilter.
const filterHelp = `--stream and --type take exact names or patterns with * (quote them): --type 'credit.*',
--stream 'video/*'. An id stands for its streams: --stream acct_…. A type without @ fits
all its versions. Flags of one kind may be repeated, and one of them must fit; different
kinds must all fit. Times are RFC 3339, a day, or how long ago, such as 90m.`

// eventFilter are the flags that select events.
type eventFilter struct {
	streams, types        []string
	account, since, until string
	after, before         int64
}

func (f *eventFilter) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.streams, "stream", nil, "stream, pattern or id")
	flags.StringArrayVar(&f.types, "type", nil, "type of event, or pattern")
	flags.StringVar(&f.account, "account", "", "account that the event belongs to")
	flags.StringVar(&f.since, "since", "", "recorded at or after this time")
	flags.StringVar(&f.until, "until", "", "recorded at or before this time")
	flags.Int64Var(&f.after, "after", 0, "position greater than this")
	flags.Int64Var(&f.before, "before", 0, "position less than this")
}

// check refuses what cannot be read, before the database is opened.
func (f *eventFilter) check() error {
	_, err := f.times()
	if err == nil && (f.after < 0 || f.before < 0) {
		err = errors.New("a position is greater than 0")
	}
	return err
}

func (f *eventFilter) times() (postgres.Filter, error) {
	var out postgres.Filter
	var err error
	if f.since != "" {
		out.Since, err = parseMoment(f.since, clock())
	}
	if f.until != "" && err == nil {
		out.Until, err = parseMoment(f.until, clock())
	}
	return out, err
}

// filter is the selection, with ids resolved to their streams.
func (f *eventFilter) filter(ctx context.Context, r *history.Reader) (postgres.Filter, error) {
	out, err := f.times()
	if err != nil {
		return out, err
	}
	out.Types, out.AccountID, out.After, out.Before = f.types, f.account, f.after, f.before
	for _, s := range f.streams {
		if strings.Contains(s, "*") || strings.Contains(s, "/") {
			out.Streams = append(out.Streams, s)
			continue
		}
		subject, err := r.Resolve(ctx, s)
		if err != nil {
			return out, err
		}
		if len(subject.Streams) == 0 {
			return out, fmt.Errorf("%s is no stream", s)
		}
		for _, stream := range subject.Streams {
			out.Streams = append(out.Streams, stream.String())
		}
	}
	return out, nil
}

// history returns a reader of the log's past.
func (a *app) history() *history.Reader { return history.NewReader(a.pool, a.store, a.codec) }

func eventsListCommand() *cobra.Command {
	var f eventFilter
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events of the log",
		Long: `Lists events in the order of their positions: the last ones that fit, or with --after or
--since the first ones from there. With --json each is a line of its own.

` + filterHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := f.check()
			if err == nil && (limit < 1 || limit > maxListed) {
				err = fmt.Errorf("--limit must be from 1 to %d", maxListed)
			}
			if err != nil {
				return misuse(cmd, err)
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				filter, err := f.filter(ctx, a.history())
				if err != nil {
					return err
				}
				events, err := a.store.Scan(ctx, filter, limit, f.after == 0 && f.since == "")
				if err != nil {
					return err
				}
				return printEvents(cmd.OutOrStdout(), events, asJSON)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, "how many at most")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON for each event")
	return strict(cmd)
}

// maxListed bounds what one list holds in memory.
const maxListed = 100_000

// printEvents prints a line for each event.
func printEvents(out io.Writer, events []postgres.Stored, asJSON bool) error {
	if asJSON {
		lines := json.NewEncoder(out)
		lines.SetEscapeHTML(false)
		for _, e := range events {
			if err := lines.Encode(e); err != nil {
				return err
			}
		}
		return nil
	}
	s := terminal.NewScreen(out)
	for _, e := range events {
		fmt.Fprintln(s, eventLine(s, e))
	}
	return nil
}

// eventLine is an event for people. What it says in short is cut at the edge of a
// terminal.
func eventLine(s terminal.Screen, e postgres.Stored) string {
	place := fmt.Sprintf("%s#%d", e.Stream, e.Version)
	plain := fmt.Sprintf("%8d  %s  %-24s  %-43s", e.Position, stamp(e.RecordedAt), e.Type, place)
	said := []rune(gist(e.Data))
	if room := s.Columns - len(plain) - 2; s.Live && len(said) > room {
		said = said[:max(0, room)]
	}
	line := fmt.Sprintf("%8d  %s  %s  %-43s  %s", e.Position, s.Paint(terminal.Dim, stamp(e.RecordedAt)),
		s.Paint(terminal.Bold, fmt.Sprintf("%-24s", e.Type)), place, s.Paint(terminal.Dim, string(said)))
	return strings.TrimRight(line, " ")
}

// shownEvent is one event with its place in its stream.
type shownEvent struct {
	postgres.Stored
	// ChainHolds says whether the stored chain follows from the event and the one before.
	ChainHolds bool `json:"chain_holds"`
	// Previous and Next are its neighbours in the stream.
	Previous *neighbour `json:"previous"`
	Next     *neighbour `json:"next"`
}

type neighbour struct {
	Position int64  `json:"position"`
	Version  int64  `json:"version"`
	Type     string `json:"type"`
}

func eventsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show POSITION",
		Short: "Show one event with its metadata, its hash chain and its neighbours",
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || position < 1 {
				return misuse(cmd, fmt.Errorf("%q is no position", args[0]))
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				e, err := a.event(ctx, position)
				if err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), e)
				}
				return printShownEvent(terminal.NewScreen(cmd.OutOrStdout()), e)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "POSITION")
}

// event reads an event with its neighbours and checks its place in the chain.
func (a *app) event(ctx context.Context, position int64) (shownEvent, error) {
	found, err := a.store.Scan(ctx, postgres.Filter{After: position - 1, Before: position + 1}, 1, false)
	if err != nil {
		return shownEvent{}, err
	}
	if len(found) == 0 {
		return shownEvent{}, fmt.Errorf("the log has no event at position %d", position)
	}
	e := shownEvent{Stored: found[0]}
	around, err := a.store.Scan(ctx, postgres.Filter{Streams: []string{e.Stream}, AfterVersion: max(e.Version-2, 0)}, 3, false)
	if err != nil {
		return e, err
	}
	var before *postgres.Stored
	for _, n := range around {
		near := &neighbour{n.Position, n.Version, n.Type}
		switch n.Version {
		case e.Version - 1:
			e.Previous, before = near, &n
		case e.Version + 1:
			e.Next = near
		}
	}
	e.ChainHolds, err = e.Follows(before)
	return e, err
}

func printShownEvent(s terminal.Screen, e shownEvent) error {
	fmt.Fprintf(s, "%s  position %d  %s UTC\n", s.Paint(terminal.Bold, e.Type), e.Position, stamp(e.RecordedAt))
	fmt.Fprintf(s, "%s  version %d", e.Stream, e.Version)
	if e.Previous != nil {
		fmt.Fprintf(s, "  after %s at %d", e.Previous.Type, e.Previous.Position)
	}
	if e.Next != nil {
		fmt.Fprintf(s, "  before %s at %d", e.Next.Type, e.Next.Position)
	}
	verdict := s.Paint(terminal.Green, "holds")
	if !e.ChainHolds {
		verdict = s.Paint(terminal.BoldRed, "BROKEN: the event is not what was recorded, or what came before it is not")
	}
	fmt.Fprintf(s, "\nchain %s  %s\n", s.Paint(terminal.Dim, e.Chain), verdict)
	m := e.ParsedMeta()
	for _, row := range [][2]string{
		{"account", m.AccountID}, {"actor", m.Actor}, {"request", m.RequestID}, {"correlation", m.CorrelationID}, {"causation", m.CausationID},
	} {
		if row[1] != "" {
			fmt.Fprintf(s, "%s %s\n", s.Paint(terminal.Dim, fmt.Sprintf("%-11s", row[0])), terminal.Printable(row[1]))
		}
	}
	return printDocument(s, e.Data)
}

// subscriptions returns a view of the log's subscribers, for orders; it delivers nothing.
func (a *app) subscriptions() *feed.Feed { return feed.New(a.pool, a.codec, a.log) }
