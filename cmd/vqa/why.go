package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vqa/handlers/jobs"
	"vqa/projections/history"
)

func whyCommand() *cobra.Command {
	var limit int
	var evidence bool
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
old request takes seconds. River keeps finished jobs for one day; older trees do not show them.

--evidence shows what the answer of an analysis rests on instead: how probable each part of the question
is over the video, the time and the parameter of the calibration that decided, and the objects. It needs
the stored detections of the video, which are removed with it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return misuse(cmd, fmt.Errorf("--limit must be at least 1"))
			}
			if evidence {
				return showFrom(cmd, func(ctx context.Context, a *app) (jobs.Explained, error) { return a.explain(ctx, args[0]) }, printEvidence)
			}
			return showFrom(cmd, func(ctx context.Context, a *app) (history.Explanation, error) {
				return a.history().Why(ctx, args[0], limit)
			}, printWhy)
		},
	}
	cmd.Flags().BoolVar(&evidence, "evidence", false, "show what the answer of an analysis rests on")
	cmd.Flags().IntVar(&limit, "limit", 5, "largest number of requests")
	cmd.MarkFlagsMutuallyExclusive("evidence", "limit")
	return printing(cmd, "ID")
}
