package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/projections/history"
)

// showOptions holds the flags of vqa show.
type showOptions struct {
	at, diff string
	version  int64
	events   bool
}

func showCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show ID [--at TIME | --version N | --diff A..B]",
		Short: "Show the state of a resource, now or at any time, folded from its events",
		Long: `Folds the events of a stream and prints the state, with its version, its time and the hash chain up to
it. It reads only the log, no snapshot and no read model.

ID is one of:
  video_…, an_…   the resource
  acct_…          the streams account and credit of the account
  key_…           the key, a part of its account
  txn_…           the credits of the account after this transaction
  credit/acct_…   any stream by its name

TIME is RFC 3339 (2026-11-20T12:00:00Z), a time or a day in UTC ("2026-11-20 12:00", 2026-11-20), or a
time before now (90m, 36h). --diff 3..7 shows the fields that versions 4 to 7 changed. Version 0 is the
state before the first event; ..7 and 3.. leave an end open.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := o.parse(machineTime()); err != nil {
				return misuse(cmd, err)
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				moment, diff, err := o.parse(a.clock.Now())
				if err != nil {
					return err
				}
				reader := a.history()
				subject, err := reader.Resolve(ctx, args[0])
				if err != nil {
					return err
				}
				if diff != nil {
					return showDiff(ctx, cmd, reader, subject, *diff)
				}
				shown, err := a.show(ctx, reader, subject, moment, o.events)
				if err != nil {
					return err
				}
				return show(cmd, shown, printShown)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.at, "at", "", "show the state at this time")
	flags.Int64Var(&o.version, "version", 0, "show the state after this version of the stream")
	flags.StringVar(&o.diff, "diff", "", "show the changes between two versions, A..B")
	flags.BoolVar(&o.events, "events", false, "list the folded events")
	cmd.MarkFlagsMutuallyExclusive("at", "version", "diff")
	return printing(cmd, "ID")
}

// versions are the ends of a --diff; to is -1 for the newest version.
type versions struct{ from, to int64 }

func (o showOptions) parse(now time.Time) (history.Moment, *versions, error) {
	m := history.Moment{Version: o.version}
	switch {
	case o.version < 0:
		return m, nil, errors.New("--version must be greater than 0")
	case o.at != "":
		at, err := parseMoment(o.at, now)
		m.At = at
		return m, nil, err
	case o.diff != "":
		v, err := parseVersions(o.diff)
		return m, &v, err
	}
	return m, nil, nil
}

func parseVersions(text string) (versions, error) {
	from, to, ok := strings.Cut(text, "..")
	v := versions{to: -1}
	for _, end := range []struct {
		text string
		into *int64
	}{{from, &v.from}, {to, &v.to}} {
		if end.text == "" {
			continue
		}
		n, err := strconv.ParseInt(end.text, 10, 64)
		if err != nil || n < 0 {
			ok = false
		}
		*end.into = n
	}
	if !ok || v.to >= 0 && v.to <= v.from {
		return v, fmt.Errorf("--diff must be two ascending versions, such as 3..7, not %q", text)
	}
	return v, nil
}

// momentForms are the accepted forms of a time, in UTC unless it has a zone.
var momentForms = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly,
}

// parseMoment reads a time, or a duration before now.
func parseMoment(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, form := range momentForms {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 2026-11-20T12:00:00Z, 2026-11-20, or a time before now such as 90m", text)
}

// shownStream is a state with its events.
type shownStream struct {
	history.State
	Events []postgres.Stored `json:"events,omitempty"`
}

// shown is the output of vqa show.
type shown struct {
	ID      string        `json:"id"`
	Streams []shownStream `json:"streams"`
}

// maxShownEvents bounds the list of --events to the last events.
const maxShownEvents = 1000

// show folds the streams of an id.
func (a *app) show(ctx context.Context, r *history.Reader, subject history.Subject, m history.Moment, events bool) (shown, error) {
	out := shown{ID: subject.ID, Streams: []shownStream{}}
	streams := subject.Streams
	switch {
	case len(streams) == 0:
		return out, fmt.Errorf("%s has no state of its own; see vqa why %s", subject.ID, subject.ID)
	case m.Version > 0:
		streams = streams[:1]
	case subject.Version > 0 && m.At.IsZero():
		m.Version = subject.Version
	}
	existed := false
	for _, stream := range streams {
		s, err := r.StateAt(ctx, stream, m)
		if err != nil {
			return out, err
		}
		existed = existed || s.Latest > 0
		if s.Version == 0 {
			continue
		}
		s.State = subject.Narrow(s.State)
		one := shownStream{State: s}
		if events {
			f := postgres.Filter{Streams: []string{s.Stream}, Before: s.Position + 1}
			if one.Events, err = a.store.Scan(ctx, f, maxShownEvents, true); err != nil {
				return out, err
			}
		}
		out.Streams = append(out.Streams, one)
	}
	switch {
	case !existed:
		return out, &history.UnknownError{ID: subject.ID}
	case len(out.Streams) == 0:
		return out, fmt.Errorf("%s did not exist yet at %s", subject.ID, m.At.UTC().Format(time.RFC3339))
	}
	return out, nil
}

// shownDiff is the output of vqa show --diff.
type shownDiff struct {
	Stream  string           `json:"stream"`
	From    int64            `json:"from_version"`
	To      int64            `json:"to_version"`
	Changes []history.Change `json:"changes"`
}

func showDiff(ctx context.Context, cmd *cobra.Command, r *history.Reader, subject history.Subject, v versions) error {
	if len(subject.Streams) == 0 {
		return fmt.Errorf("%s has no state of its own; see vqa why %s", subject.ID, subject.ID)
	}
	stream := subject.Streams[0]
	after, err := r.StateAt(ctx, stream, history.Moment{Version: max(v.to, 0)})
	if err != nil {
		return err
	}
	before, err := stateBefore(ctx, r, stream, v.from)
	if err != nil {
		return err
	}
	if after.Version == 0 {
		return &history.UnknownError{ID: subject.ID}
	}
	d := shownDiff{Stream: stream.String(), From: before.Version, To: after.Version}
	if d.Changes, err = history.Diff(subject.Narrow(before.State), subject.Narrow(after.State)); err != nil {
		return err
	}
	return show(cmd, d, printDiff)
}

// stateBefore returns the state at a version. The state at version 0 is empty.
func stateBefore(ctx context.Context, r *history.Reader, stream eventstore.StreamID, version int64) (history.State, error) {
	if version == 0 {
		return history.State{Stream: stream.String()}, nil
	}
	return r.StateAt(ctx, stream, history.Moment{Version: version})
}
