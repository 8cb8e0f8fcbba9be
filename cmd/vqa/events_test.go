package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/feed"
	"vqa/eventstore/postgres"
	"vqa/projections/history"
)

// toolbench runs subcommands within the test on a database of their own, without a service.
// A test that has one is not parallel, because the commands read the environment.
type toolbench struct {
	*testing.T
	config config
	key    issuedKey
}

func newToolbench(t *testing.T) toolbench {
	t.Helper()
	c := toolConfig(t)
	t.Setenv("VQA_DATABASE_URL", c.DatabaseURL)
	t.Setenv("VQA_DATA_DIR", c.DataDir)
	t.Setenv("VQA_LOG_LEVEL", "error")
	b := toolbench{T: t, config: c}
	b.json(&b.key, "keys", "create", "--mode", "live", "--grant-seconds", "6000", "--json")
	return b
}

func (b toolbench) run(args ...string) (out, complaint string, err error) {
	b.Helper()
	var stdout, stderr bytes.Buffer
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	err = root.ExecuteContext(b.Context())
	return stdout.String(), stderr.String(), err
}

// text returns what a subcommand printed.
func (b toolbench) text(args ...string) string {
	b.Helper()
	out, complaint, err := b.run(args...)
	require.NoError(b, err, "vqa %s: %s", strings.Join(args, " "), complaint)
	return out
}

func (b toolbench) json(into any, args ...string) {
	b.Helper()
	out := b.text(args...)
	require.NoError(b, json.Unmarshal([]byte(out), into), out)
}

// events are the lines of JSON that a subcommand of events printed.
func (b toolbench) events(args ...string) (events []postgres.Stored) {
	b.Helper()
	for line := range strings.Lines(b.text(append([]string{"events"}, args...)...)) {
		var e postgres.Stored
		require.NoError(b, json.Unmarshal([]byte(line), &e), line)
		events = append(events, e)
	}
	return events
}

func types(events []postgres.Stored) []string {
	names := []string{}
	for _, e := range events {
		names = append(names, e.Type)
	}
	return names
}

func TestEventsListShowAndStats(t *testing.T) {
	b := newToolbench(t)
	b.text("credits", "purchase", b.key.AccountID, "500", "--reason", "invoice", "--idempotency-key", "i1")
	acct := b.key.AccountID
	all := b.events("list", "--json")
	bought := all[len(all)-1]
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"--account", acct}, []string{"account.opened", "account.key_issued", "credit.granted", "credit.granted"}},
		{[]string{"--type", "credit.*", "--limit", "1"}, []string{"credit.granted"}},
		{[]string{"--stream", "account/*", "--type", "account.opened"}, []string{"account.opened"}},
		{[]string{"--stream", acct}, []string{"account.opened", "account.key_issued", "credit.granted", "credit.granted"}},
		{[]string{"--after", strconv.FormatInt(bought.Position-1, 10)}, []string{"credit.granted"}},
		{[]string{"--since", "1h", "--limit", "2", "--account", acct}, []string{"account.opened", "account.key_issued"}},
		{[]string{"--until", "1h"}, []string{}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, types(b.events(append([]string{"list", "--json"}, tt.args...)...)), "%v", tt.args)
	}
	line := b.text("events", "list", "--limit", "1")
	require.Contains(t, line, fmt.Sprintf("credit/%s#2", acct))
	require.Contains(t, line, "kind purchase, seconds 500, balance_after 6500")

	var e shownEvent
	b.json(&e, "events", "show", strconv.FormatInt(bought.Position, 10), "--json")
	require.True(t, e.ChainHolds)
	require.Equal(t, "credit.granted", e.Previous.Type)
	require.Nil(t, e.Next)
	text := b.text("events", "show", strconv.FormatInt(bought.Position, 10))
	require.Regexp(t, `(?s)credit\.granted  position \d+ .*version 2  after credit\.granted at \d+\nchain [0-9a-f]{64}  holds\n.*"reason": "invoice"`, text)

	var c postgres.Stats
	b.json(&c, "events", "stats", "--json")
	require.Equal(t, int64(len(all)), c.Events)
	require.Contains(t, b.text("events", "stats", "--account", acct), "4 events in 2 streams")
	require.Contains(t, b.text("events", "stats", "--account", "nobody"), "0 events")

	for _, args := range [][]string{
		{"list", "--since", "yesterday"}, {"list", "--limit", "0"}, {"list", "--after", "-1"}, {"show", "x"}, {"stats", "--until", "x"},
		{"tail", "--last", "-1"}, {"replay", "jobs"}, {"replay", "jobs", "--from", "3", "--to", "2"}, {"reset", "jobs"},
		{"reset", "jobs", "--to", "-3"}, {"parked", "retry", "jobs"}, {"parked", "drop", "jobs", "0"}, {"parked", "show", "jobs", "x"},
		{"replay", "jobs", "--cancel", "--from", "1"}, {"parked", "drop", "jobs", "3", "--all"},
	} {
		_, complaint, err := b.run(append([]string{"events"}, args...)...)
		require.ErrorIs(t, err, exitUsage, "%v", args)
		require.Contains(t, complaint, "vqa: ", "%v", args)
	}
	for _, args := range [][]string{{"show", "99999"}, {"list", "--stream", "what"}, {"reset", "nobody", "--to", "0"}, {"replay", "nobody", "--from", "1", "--to", "2"}} {
		_, _, err := b.run(append([]string{"events"}, args...)...)
		require.Error(t, err, "%v", args)
	}
}

func TestShowAndWhy(t *testing.T) {
	b := newToolbench(t)
	acct := b.key.AccountID
	b.text("credits", "purchase", acct, "500", "--reason", "invoice", "--idempotency-key", "i1")
	credits := b.events("list", "--stream", "credit/"+acct, "--json")
	var granted struct {
		TransactionID string `json:"transaction_id"`
	}
	require.NoError(t, json.Unmarshal(credits[0].Data, &granted))

	posted := func(args ...string) (seconds, version float64) {
		t.Helper()
		var s struct {
			Streams []struct {
				Version float64        `json:"version"`
				State   map[string]any `json:"state"`
			} `json:"streams"`
		}
		b.json(&s, append([]string{"show", "--json"}, args...)...)
		last := s.Streams[len(s.Streams)-1]
		return last.State["posted_seconds"].(float64), last.Version
	}
	first := credits[0].RecordedAt.Format(time.RFC3339Nano)
	for _, tt := range []struct {
		args             []string
		seconds, version float64
	}{
		{[]string{acct}, 6500, 2}, {[]string{"credit/" + acct}, 6500, 2},
		{[]string{granted.TransactionID}, 6000, 1}, {[]string{"credit/" + acct, "--version", "1"}, 6000, 1},
		{[]string{acct, "--at", first}, 6000, 1}, {[]string{granted.TransactionID, "--at", "0s"}, 6500, 2},
	} {
		seconds, version := posted(tt.args...)
		require.Equal(t, []float64{tt.seconds, tt.version}, []float64{seconds, version}, "%v", tt.args)
	}
	text := b.text("show", acct, "--events")
	require.Contains(t, text, "account/"+acct+"  version 2")
	require.Contains(t, text, `"posted_seconds": 6500`)
	require.Contains(t, text, "kind purchase, seconds 500")
	require.Contains(t, b.text("show", "credit/"+acct, "--version", "1"), "version 1 of 2")
	require.Contains(t, b.text("show", b.key.KeyID), `"id": "`+b.key.KeyID+`"`)
	diff := b.text("show", "credit/"+acct, "--diff", "1..")
	require.Equal(t, "credit/"+acct+"  version 1 to 2\n~ posted_seconds: 6000 → 6500\n~ totals.sales: 0 → 500\n", diff)
	var d shownDiff
	b.json(&d, "show", "credit/"+acct, "--diff", "0..1", "--json")
	require.Equal(t, []int64{0, 1}, []int64{d.From, d.To})
	require.Contains(t, d.Changes, history.Change{Path: "posted_seconds", After: json.RawMessage("6000")})

	why := b.text("why", acct)
	for _, want := range []string{
		"by operator:", "├─ account.opened #", "└─ credit.granted #", "grants -6,000, available +6,000; balance 6,000  signup_grant ",
		"└─ credit.granted #", "sales -500, available +500; balance 6,500  purchase ",
	} {
		require.Contains(t, why, want)
	}
	require.Contains(t, b.text("why", acct, "--limit", "1"), "… at least 1 earlier request (--limit shows more)")
	require.Contains(t, b.text("why", granted.TransactionID), "◀")
	var x history.Explanation
	b.json(&x, "why", credits[1].ParsedMeta().RequestID, "--json")
	require.Len(t, x.Chains, 1)
	require.Equal(t, int64(6500), *x.Chains[0].Steps[0].Event.Entry.BalanceAfter)

	for _, args := range [][]string{
		{"show", acct, "--at", "noon"}, {"show", acct, "--diff", "3"}, {"show", acct, "--diff", "3..2"},
		{"show", acct, "--version", "-1"}, {"why", acct, "--limit", "0"},
	} {
		_, _, err := b.run(args...)
		require.ErrorIs(t, err, exitUsage, "%v", args)
	}
	for _, args := range [][]string{
		{"show", "an_1"}, {"show", "req_1"}, {"show", "x/y"}, {"show", acct, "--at", "2020-01-01"}, {"show", acct, "--version", "9"},
		{"show", acct, "--at", "1h", "--version", "1"}, {"why", "an_1"}, {"show", "an_1", "--diff", "0..1"},
	} {
		_, _, err := b.run(args...)
		require.Error(t, err, "%v", args)
	}
}

// subscribe delivers the log to handle until the test ends, as the service does.
func (b toolbench) subscribe(handle feed.Handler) {
	b.Helper()
	pool, err := postgres.Connect(b.Context(), b.config.DatabaseURL)
	require.NoError(b, err)
	f := feed.New(pool, codec.Events(), slog.New(slog.DiscardHandler), feed.WithRetry(1, 0), feed.WithPollInterval(5*time.Millisecond))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Subscribe(ctx, "jobs", handle) }()
	b.Cleanup(func() {
		stop()
		require.NoError(b, <-ended)
		pool.Close()
	})
}

// subscriber waits until ok is true for the subscriber jobs.
func (b toolbench) subscriber(ok func(feed.Subscriber) bool) {
	b.Helper()
	require.Eventually(b, func() bool {
		var s shownSubscribers
		out, _, err := b.run("events", "subscribers", "--json")
		if err != nil || json.Unmarshal([]byte(out), &s) != nil {
			return false
		}
		at := slices.IndexFunc(s.Subscribers, func(x feed.Subscriber) bool { return x.Name == "jobs" })
		return at >= 0 && ok(s.Subscribers[at])
	}, time.Minute, 5*time.Millisecond)
}

func TestSubscribersReplaysAndParkedEvents(t *testing.T) {
	b := newToolbench(t)
	require.Regexp(t, `no service is running\n\n.*\n  jobs +0 +\d+ .* stopped +-\n`, b.text("events", "subscribers"))
	require.Equal(t, "  none\n", b.text("events", "parked"))
	all := b.events("list", "--json")
	last := all[len(all)-1].Position
	require.Regexp(t, `^jobs would move from 0 to \d+; skipped: \d+ events\.\n$`, b.text("events", "reset", "jobs", "--to", "end", "--dry-run"))

	cured := make(chan struct{})
	seen := make(chan int64, 100)
	b.subscribe(func(_ context.Context, e eventstore.Recorded) error {
		select {
		case <-cured:
		default:
			if e.Event.EventType() == "account.opened" {
				return errors.New("no job for it\nat all")
			}
		}
		seen <- e.Position
		return nil
	})
	b.subscriber(func(s feed.Subscriber) bool { return s.Position == last && s.Parked == 1 })
	var parked []feed.Parked
	b.json(&parked, "events", "parked", "list", "jobs", "--json")
	require.Len(t, parked, 1)
	require.Equal(t, int64(1), parked[0].LaterInStream)
	at := strconv.FormatInt(parked[0].Position, 10)
	require.Contains(t, b.text("events", "parked"), "no job for it …")
	require.Contains(t, b.text("events", "parked", "show", "jobs", at), "no job for it\nat all\n\naccount.opened  position "+at)
	for len(seen) > 0 {
		<-seen
	}

	require.Contains(t, b.text("events", "parked", "retry", "jobs", at, "--dry-run"), "account.opened       1")
	close(cured)
	// No process has joined as a service, so the command does not wait for the delivery.
	require.Contains(t, b.text("events", "parked", "retry", "jobs", "--all"), "has 1 event and waits: no service is running.")
	require.Equal(t, parked[0].Position, <-seen)
	b.subscriber(func(s feed.Subscriber) bool { return s.Parked == 0 && s.Replay == nil })
	_, _, err := b.run("events", "parked", "retry", "jobs", at)
	require.ErrorContains(t, err, "jobs has no parked event at position "+at)
	_, _, err = b.run("events", "parked", "drop", "jobs", "--all")
	require.ErrorContains(t, err, "jobs has no parked events")

	var preview struct{ Events int64 }
	from, to := strconv.FormatInt(all[1].Position, 10), strconv.FormatInt(last, 10)
	b.json(&preview, "events", "replay", "jobs", "--from", from, "--to", to, "--dry-run", "--json")
	require.Equal(t, int64(len(all)-1), preview.Events)
	b.text("events", "replay", "jobs", "--from", from, "--to", to)
	for _, e := range all[1:] {
		require.Equal(t, e.Position, <-seen)
	}
	b.subscriber(func(s feed.Subscriber) bool { return s.Replay == nil })
	require.Equal(t, "jobs has no open replay.\n", b.text("events", "replay", "jobs", "--cancel"))

	require.Regexp(t, `^jobs moved from \d+ to 0; to deliver again: \d+ events\.\n$`, b.text("events", "reset", "jobs", "--to", "start"))
	for _, e := range all {
		require.Equal(t, e.Position, <-seen)
	}
}
