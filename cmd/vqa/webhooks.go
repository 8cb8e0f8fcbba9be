package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/feed"
	"vqa/handlers/webhook"
	"vqa/projections/deliveries"
	"vqa/projections/public"
)

func webhooksCommand() *cobra.Command {
	return group("webhooks", "Examine the deliveries of webhooks", webhooksVerifyCommand())
}

const webhooksVerifyHelp = `Compares the deliveries with the log. Each public event of the last 30 days must have exactly one
delivery for each endpoint that subscribed to it at its place in the log, and one for the address that its
analysis names. It can run beside the service, and changes nothing. The exit status is 1 when there is a
finding.

Kinds of findings:
  missing     a pair of an event and a target has no delivery
  double      a pair has several deliveries
  unexpected  the event of a delivery does not exist, or the target did not subscribe to it
  stuck       a delivery waits but is not in the queue, or it has ended and is in the queue

Repair missing pairs with vqa events replay webhooks, from the position of the event.

--json prints one object:
  position        the last position of the log that the subscriber had handled
  events, pairs   how many public events and pairs were compared
  waiting         events that the subscriber will try again, which were not compared
  findings        each with problem, event_id, target and position`

func webhooksVerifyCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "verify",
		Short: "Compare the deliveries with the log",
		Long:  webhooksVerifyHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, func(ctx context.Context, a *app) (webhook.Verification, error) {
				v, err := a.verifyWebhooks(ctx)
				if err == nil {
					err = failing(len(v.Findings) > 0)
				}
				return v, err
			}, printVerification)
		},
	})
}

func (a *app) verifyWebhooks(ctx context.Context) (v webhook.Verification, err error) {
	subscriptions := a.subscriptions()
	all, err := subscriptions.Subscribers(ctx, webhook.Group)
	if err != nil {
		return v, err
	}
	at := slices.IndexFunc(all, func(s feed.Subscriber) bool { return s.Name == webhook.Group })
	// The position is read first: an event that was set aside before it is in the list, or done.
	setAside, err := subscriptions.SetAside(ctx, webhook.Group)
	if err != nil {
		return v, err
	}
	verifier := webhook.Verifier{
		Events: public.NewReader(a.store), Streams: a.store, Log: a.store, Pairs: deliveries.New(a.pool), Now: a.clock.Now,
	}
	return verifier.Verify(ctx, all[at].Position, setAside)
}

func printVerification(s terminal.Screen, v webhook.Verification) {
	fmt.Fprintf(s, "  %d events and %d pairs compared, up to position %d; %d events wait\n", v.Events, v.Pairs, v.Position, v.Waiting)
	terminal.List(func(f webhook.Finding) []string {
		return []string{string(f.Problem), f.EventID, f.Target, fmt.Sprint(f.Position)}
	}, "PROBLEM", "EVENT", "TARGET", "POSITION")(s, v.Findings)
}
