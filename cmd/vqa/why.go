package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

func whyCommand() *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Show what led to something: requests, events, ledger entries, jobs",
		Long: `Draws a tree for each request that something goes back to: the request, the events that it
led to with their ledger entries (seconds moved, balance after), the jobs that an event
called for with their state and errors, and what those jobs reported. On the left stand the
time in UTC and the time since the step before.

ID is a video_, an_, acct_, key_ or txn_ id, a request (req_…), the position of an event, or
the name of a stream such as credit/acct_…. The last requests are shown, --limit of them.

No index serves this. From an id, its streams and those that its events name are searched.
A request's id alone names no stream: the log is searched for it from its end, 20,000
positions at a time, until a page holds it; in a long log an old request takes seconds.
River keeps finished jobs for a day; older chains are shown without them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return misuse(cmd, fmt.Errorf("--limit must be at least 1"))
			}
			return withApp(cmd, func(ctx context.Context, a *app) error {
				x, err := a.history().Why(ctx, args[0], limit)
				if err != nil {
					return err
				}
				if asJSON {
					return terminal.PrintJSON(cmd.OutOrStdout(), x)
				}
				printWhy(terminal.NewScreen(cmd.OutOrStdout()), x)
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 5, "how many requests at most")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd, "ID")
}
