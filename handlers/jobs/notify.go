package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"vqa/handlers/command"
)

const (
	// notifyTimeout bounds one attempt to send an email.
	notifyTimeout = time.Minute
	// notifyAttempts, with the pauses of River between them, last about a day.
	notifyAttempts = 15
)

// Notifier sends the emails about webhook endpoints. It may send one twice.
type Notifier interface {
	Notify(ctx context.Context, notice command.Notice) error
}

// notifyArgs is an email about a webhook endpoint.
type notifyArgs struct {
	command.Notice
}

// Kind implements river.JobArgs.
func (notifyArgs) Kind() string { return "notify" }

// Notify enqueues an email. A second call for the same event adds nothing. River repeats a failed attempt.
func (c *Client) Notify(ctx context.Context, notice command.Notice) error {
	_, err := c.river.Insert(ctx, notifyArgs{notice}, &river.InsertOpts{
		Queue: queueMail, MaxAttempts: notifyAttempts, UniqueOpts: river.UniqueOpts{ByArgs: true},
	})
	return err
}
