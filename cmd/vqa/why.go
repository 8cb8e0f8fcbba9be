package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/projections/history"
)

func whyCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "why ID",
		Short: "Show the cause of a resource: requests, events, ledger entries, jobs",
		Long: `Draws a tree for each request that changed a resource: the request, its events with their ledger
entries (moved seconds, balance after), the jobs that an event started with their state and errors, and
the events of these jobs. The left columns show the time in UTC and the time since the previous step.

ID is a video_, an_, st_, acct_, key_ or txn_ id, a request (req_…), the position of an event, or the name of
a stream such as credit/acct_…. --limit is the number of requests; the last ones are shown.

There is no index for this. For an id, the command searches its streams and the streams that its events
name. For a request id, it searches the log from its end, 20,000 positions at a time; in a long log, an
old request takes seconds. River keeps finished jobs for one day; older trees do not show them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return misuse(cmd, fmt.Errorf("--limit must be at least 1"))
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (history.Explanation, error) {
				return a.history().Why(ctx, args[0], limit)
			}, printWhy)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 5, "largest number of requests")
	return printing(cmd, "ID")
}
