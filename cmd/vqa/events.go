package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
	"vqa/projections/history"
)

func eventsCommand() *cobra.Command {
	return group("events", "Read the event log and control its subscribers, also without a running service",
		eventsListCommand(), eventsTailCommand(), eventsShowCommand(), eventsStatsCommand(),
		subscribersCommand(), resetCommand(), replayCommand(), parkedCommand(),
	)
}

// filterHelp describes the flags of eventFilter.
const filterHelp = `--stream and --type take exact names or quoted patterns with *, for example --type 'credit.*' or
--stream 'video/*'. An id selects all its streams: --stream acct_…. A type without @ selects all its
versions. You can repeat a flag. An event must match at least one value of each kind of flag that you
give. Times are RFC 3339, a day, or a time before now such as 90m.`

// eventFilter holds the flags that select events.
type eventFilter struct {
	streams, types        []string
	account, since, until string
	after, before         int64
}

func (f *eventFilter) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.streams, "stream", nil, "stream, pattern or id")
	flags.StringArrayVar(&f.types, "type", nil, "type of event, or pattern")
	flags.StringVar(&f.account, "account", "", "account of the event")
	flags.StringVar(&f.since, "since", "", "recorded at or after this time")
	flags.StringVar(&f.until, "until", "", "recorded at or before this time")
	flags.Int64Var(&f.after, "after", 0, "position greater than this")
	flags.Int64Var(&f.before, "before", 0, "position less than this")
}

// check refuses invalid flags before the database is opened.
func (f *eventFilter) check() error {
	_, err := f.times(machineTime())
	if err == nil && (f.after < 0 || f.before < 0) {
		err = errors.New("--after and --before must not be negative")
	}
	return err
}

func (f *eventFilter) times(now time.Time) (postgres.Filter, error) {
	var out postgres.Filter
	var err error
	if f.since != "" {
		out.Since, err = parseMoment(f.since, now)
	}
	if f.until != "" && err == nil {
		out.Until, err = parseMoment(f.until, now)
	}
	return out, err
}

// filter returns the selection. It replaces ids by their streams.
func (f *eventFilter) filter(ctx context.Context, r *history.Reader, now time.Time) (postgres.Filter, error) {
	out, err := f.times(now)
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
			return out, fmt.Errorf("there is no stream of %s", s)
		}
		for _, stream := range subject.Streams {
			out.Streams = append(out.Streams, stream.String())
		}
	}
	return out, nil
}

// history returns a reader of past states.
func (a *app) history() *history.Reader { return history.NewReader(a.pool, a.store, a.codec) }

func eventsListCommand() *cobra.Command {
	var f eventFilter
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List events of the log",
		Long: `Lists events in the order of their positions: the last events that match, or with --after or --since
the first events from there. With --json each event is one line.

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
				filter, err := f.filter(ctx, a.history(), a.clock.Now())
				if err != nil {
					return err
				}
				events, err := a.store.Scan(ctx, filter, limit, f.after == 0 && f.since == "")
				if err != nil {
					return err
				}
				return printEvents(cmd.OutOrStdout(), events, asJSON(cmd))
			})
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, "largest number of events")
	cmd.Flags().Bool("json", false, "print a line of JSON for each event")
	return strict(cmd)
}

// maxListed bounds the events of one list, which are held in memory.
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

// eventLine formats an event as one line. On a terminal, the summary is cut at the right edge.
func eventLine(s terminal.Screen, e postgres.Stored) string {
	place := fmt.Sprintf("%s#%d", e.Stream, e.Version)
	plain := fmt.Sprintf("%8d  %s  %-24s  %-43s", e.Position, stamp(e.RecordedAt), e.Type, place)
	text := []rune(summary(e.Data))
	if room := s.Columns - len(plain) - 2; s.Live && len(text) > room {
		text = text[:max(0, room)]
	}
	line := fmt.Sprintf("%8d  %s  %s  %-43s  %s", e.Position, s.Paint(terminal.Dim, stamp(e.RecordedAt)),
		s.Paint(terminal.Bold, fmt.Sprintf("%-24s", e.Type)), place, s.Paint(terminal.Dim, string(text)))
	return strings.TrimRight(line, " ")
}

// shownEvent is one event with its neighbors in its stream.
type shownEvent struct {
	postgres.Stored
	// ChainHolds is true when the stored hash matches the event and the hash before it.
	ChainHolds bool `json:"chain_holds"`
	// Previous and Next are the neighbors in the stream.
	Previous *neighbor `json:"previous"`
	Next     *neighbor `json:"next"`
}

type neighbor struct {
	Position int64  `json:"position"`
	Version  int64  `json:"version"`
	Type     string `json:"type"`
}

func eventsShowCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "show POSITION",
		Short: "Show one event with its metadata, its hash chain and its neighbors",
		RunE: func(cmd *cobra.Command, args []string) error {
			position, err := parseEvent(args[0])
			if err != nil {
				return misuse(cmd, err)
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (shownEvent, error) { return a.event(ctx, position) }, printShownEvent)
		},
	}, "POSITION")
}

// parseEvent reads the position of an event.
func parseEvent(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("POSITION must be a whole number above 0, not %q", text)
	}
	return n, nil
}

// event reads an event with its neighbors and checks its hash.
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
		near := &neighbor{n.Position, n.Version, n.Type}
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

func printShownEvent(s terminal.Screen, e shownEvent) {
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
		verdict = s.Paint(terminal.BoldRed, "BROKEN: this event or an event before it was altered")
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
	printDocument(s, e.Data)
}

// subscriptions returns a feed for managing the subscribers. It delivers no events.
func (a *app) subscriptions() *feed.Feed { return feed.New(a.pool, a.codec, a.log) }
