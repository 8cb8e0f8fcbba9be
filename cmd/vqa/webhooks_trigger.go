package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/webhook"
)

// The types of events that test mode produces on request.
const (
	triggersAnalysis = "analysis.completed"
	triggersStream   = "stream.ended"
)

const noTestKey = "give a test key with --key or VQA_API_KEY. POST /v1/sandbox returns one, and so does vqa keys create --mode test"

func triggerCommand() *cobra.Command {
	var server, key, prompt string
	cmd := &cobra.Command{
		Use:   "trigger TYPE",
		Short: "Make an event in test mode, to try your webhooks",
		Long: `Asks a question about the test video, or creates and ends a live stream, with a test key. The event takes its
real path: it is in the feed, and it is delivered to the endpoints of test mode that subscribe to it. Nothing is
billed.

TYPE is analysis.completed or stream.ended. Test mode does not fail, so it makes no other events. For a sample
of any type send POST /v1/webhook_endpoints/{id}/test.`,
		Example: `  vqa trigger analysis.completed --key "$VQA_TEST_KEY"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := locatedConfig(server, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return runTrigger(cmd.Context(), c, server, key, args[0], prompt, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&server, "url", "", "base URL of the server")
	cmd.Flags().StringVar(&key, "key", "", "test key (VQA_API_KEY keeps it out of the process list)")
	cmd.Flags().StringVar(&prompt, "prompt", "Is there a ball?", "question about the test video")
	return strict(cmd, "TYPE")
}

func runTrigger(ctx context.Context, c config, server, key, kind, prompt string, stdout, stderr io.Writer) (err error) {
	if !slices.Contains(webhook.EventTypes(), kind) {
		return fmt.Errorf("%q is not a type of event; the types are %s", kind, strings.Join(webhook.EventTypes(), ", "))
	}
	if kind != triggersAnalysis && kind != triggersStream {
		return fmt.Errorf("test mode makes no %s; it makes %s and %s. Send POST /v1/webhook_endpoints/{id}/test for a sample", kind, triggersAnalysis, triggersStream)
	}
	if key == "" && os.Getenv("VQA_API_KEY") == "" {
		return errors.New(noTestKey) // before connect, which would create a live key
	}
	s, err := connect(ctx, c, server, key, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	videoID, err := s.FixtureVideo(ctx)
	if err != nil {
		return err
	}
	if videoID == "" {
		return errors.New("this is not a test key: " + noTestKey)
	}
	cause := answerTheTestVideo
	if kind == triggersStream {
		cause = endAStream
	}
	resourceID, err := cause(ctx, s.Client, videoID, prompt)
	if err != nil {
		return err
	}
	eventID, err := s.AwaitEvent(ctx, kind, resourceID)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s  %s  %s\n", kind, resourceID, eventID)
	return nil
}

// answerTheTestVideo asks about the test video and returns the id of the analysis.
func answerTheTestVideo(ctx context.Context, c *client.Client, videoID, prompt string) (string, error) {
	a, err := c.CreateAnalysis(ctx, map[string]any{"video_id": videoID, "prompt": prompt}, client.NewIdempotencyKey(), 0)
	if err == nil {
		a, err = client.Follow(ctx, c, a, client.PollEvery, func(client.Analysis) {})
	}
	return a.ID, err
}

// endAStream creates a live stream, ends it and returns its id.
func endAStream(ctx context.Context, c *client.Client, _, prompt string) (string, error) {
	st, err := c.CreateStream(ctx, map[string]any{"prompt": prompt}, client.NewIdempotencyKey())
	if err == nil {
		st, err = c.EndStream(ctx, st.ID)
	}
	return st.ID, err
}
