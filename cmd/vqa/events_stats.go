package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/postgres"
)

func eventsStatsCommand() *cobra.Command {
	var f eventFilter
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count the events of the log by type, day and account",
		Long: `Counts the events that match, and the bytes of their payloads and metadata, in one pass over the log:
by type, by day (UTC, the last 31 days with events), and for the ten accounts with the most events.

` + filterHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return misuse(cmd, err)
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (postgres.Stats, error) {
				filter, err := f.filter(ctx, a.history(), a.clock.Now())
				if err != nil {
					return postgres.Stats{}, err
				}
				return a.store.Stats(ctx, filter)
			}, printStats)
		},
	}
	f.register(cmd)
	return printing(cmd)
}

// maxName is the most letters of a name in a list. A foreign writer may store a type of any length.
const maxName = 60

func printStats(s terminal.Screen, c postgres.Stats) {
	fmt.Fprintf(s, "  %s events in %s streams, %s", s.Paint(terminal.Bold, terminal.Thousands(c.Events)), terminal.Thousands(c.Streams), terminal.ByteSize(c.Bytes))
	if c.Events == 0 {
		fmt.Fprintln(s)
		return
	}
	took := c.Last.Sub(*c.First)
	fmt.Fprintf(s, "\n  from %s to %s UTC", stamp(*c.First), stamp(*c.Last))
	if took > time.Second {
		fmt.Fprintf(s, ", %s", perSecond(float64(c.Events)/took.Seconds()))
	}
	fmt.Fprintln(s)
	for _, list := range []struct {
		head   string
		rows   []postgres.Count
		shares bool
	}{{"TYPE", c.Types, true}, {"DAY", c.Days, false}, {"ACCOUNT", c.Accounts, true}} {
		t := terminal.Table{{list.head, "EVENTS", "SHARE", "BYTES", "BYTES EACH"}}
		for _, row := range list.rows {
			name := terminal.Printable(row.Name)
			if letters := []rune(name); len(letters) > maxName {
				name = string(letters[:maxName]) + "…"
			}
			if name == "" {
				name = "(none)"
			}
			t = append(t, []string{
				name, terminal.Thousands(row.Events), fmt.Sprintf("%.1f%%", 100*float64(row.Events)/float64(c.Events)),
				terminal.Thousands(row.Bytes), terminal.Thousands(row.Bytes / row.Events),
			})
		}
		fmt.Fprintln(s)
		t.Print(s)
	}
}

// perSecond formats a rate, with a fraction when it is small.
func perSecond(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.2g events/s", rate)
	}
	return terminal.Thousands(int64(rate)) + " events/s"
}
