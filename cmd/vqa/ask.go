package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
)

// Exit statuses of the subcommands, besides 0 and 1.
const (
	exitUsage  exitError = 2
	exitFailed exitError = 3 // the server ended the analysis with an error
)

// askOptions holds the flags of `vqa ask`.
type askOptions struct {
	server    string
	key       string
	model     string
	wait      time.Duration
	narrative bool
	json      bool
}

func askCommand() *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "ask FILE|URL|VIDEO PROMPT",
		Short: "Ask a question about a video and read the answer",
		Long: `Uploads a video, asks a question about it and prints the answer. Instead of a file you can give a
public https URL or the id of a video. The question is checked before the upload, and a file is
uploaded only once.

The server is the one at --url, or else the one that uses the data folder: VQA_DATA_DIR, or else .vqa
in this folder, or else the folder of your running server. When none runs, the server at VQA_PUBLIC_URL
or VQA_ADDR is asked. When none answers, the command starts a server for itself. The key is --key or
VQA_API_KEY, or else a key that the command creates once and stores in the data folder.
Ctrl-C cancels the analysis. A canceled analysis is not billed.

Exit status: 0 for any answer, also "indeterminate"; 1 for an error; 2 for wrong usage; 3 when the
analysis failed.`,
		Example: `  vqa ask clip.mp4 "Is there a dog?"
  vqa ask video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A "When does the dog appear?"
  vqa ask https://example.com/street.mp4 "How many cars are there?" --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := locatedConfig(o.server, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return runAsk(cmd.Context(), c, o, args[0], args[1], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server, "url", "", "base URL of the server")
	flags.StringVar(&o.key, "key", "", "API key (VQA_API_KEY keeps it out of the process list)")
	flags.StringVar(&o.model, "model", "", "model; when empty, the default model")
	flags.DurationVar(&o.wait, "wait", 10*time.Minute, "cancel the analysis after this time")
	flags.BoolVar(&o.narrative, "narrative", false, "also print a narrative of the video")
	flags.BoolVar(&o.json, "json", false, "print the analysis as JSON")
	return strict(cmd, "FILE|URL|VIDEO", "PROMPT")
}

// operator is the name of the user who runs the command, for the log.
func operator() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

func runAsk(ctx context.Context, c config, o askOptions, source, prompt string, stdout, stderr io.Writer) (err error) {
	src, err := client.OpenSource(source)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.File != nil {
		if err := checkFile(src.File); err != nil {
			return fmt.Errorf("%s: %w", terminal.Printable(source), err)
		}
	}
	s, err := connect(ctx, c, o.server, o.key, stderr)
	if err != nil {
		return err
	}
	defer func() {
		// The answer has been printed. An error of the server's shutdown is still reported.
		err = errors.Join(err, s.Close())
	}()
	bounded, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	a, err := ask(bounded, s, o, src, prompt, stderr)
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted%s", outcomeOfCancel(a, err))
	case err != nil && bounded.Err() != nil:
		return fmt.Errorf("no answer within %s (--wait)%s", o.wait, outcomeOfCancel(a, err))
	case err != nil:
		return err
	}
	if o.json {
		if err := terminal.PrintJSON(stdout, a.Raw); err != nil {
			return err
		}
	}
	switch {
	case a.Status == "failed":
		fmt.Fprintf(stderr, "vqa: the analysis failed: %v\n", a.Error)
		return exitFailed
	case a.Status != "completed" || a.Result == nil:
		return fmt.Errorf("the analysis %s was %s", a.ID, a.Status)
	case !o.json:
		printAnswer(terminal.NewScreen(stdout), a)
	}
	return nil
}

// outcomeOfCancel says whether the analysis was canceled. It is empty when no analysis was created.
func outcomeOfCancel(a client.Analysis, err error) string {
	var notCanceled *client.CancelError
	switch {
	case a.ID == "":
		return ""
	case errors.As(err, &notCanceled):
		return fmt.Sprintf("; %s could not be canceled: %v", a.ID, notCanceled.Err)
	}
	return fmt.Sprintf("; %s was canceled and is not billed", a.ID)
}

// ask uploads the video, creates an analysis and follows it to its end. When ctx ends first, it
// cancels the analysis.
func ask(ctx context.Context, s *session, o askOptions, src client.Source, prompt string, stderr io.Writer) (client.Analysis, error) {
	bar := terminal.NewProgress(stderr, "uploading", terminal.BytesUnit)
	defer func() { bar.Finish() }()
	if src.URL != "" {
		bar = terminal.NewProgress(stderr, "fetching", terminal.PercentUnit)
	}
	s.Busy = func(why *client.Error, after time.Duration) {
		bar.Stage("waiting")
		if !bar.Live() {
			fmt.Fprintf(stderr, "%v; trying again in %s\n", why, after.Round(time.Second))
		}
	}
	v, u, found, err := s.known(ctx, src)
	if err == nil && !found {
		var refused *client.Analysis
		if refused, err = s.refusal(ctx, o, prompt); refused != nil {
			return *refused, nil
		}
		if err == nil {
			v, err = src.Register(ctx, s.Client, bar.Set)
		}
		if err == nil && src.File != nil {
			u.VideoID = v.ID
			uploadsOf(s.config).remember(u)
		}
	}
	if err != nil {
		return client.Analysis{}, err
	}
	bar.Finish()
	if found && src.File != nil {
		fmt.Fprintf(stderr, "%s was uploaded before, as %s\n", terminal.Printable(filepath.Base(src.File.Name())), v.ID)
	}
	bar = terminal.NewProgress(stderr, "queued", terminal.PercentUnit)
	s.awaitReady(ctx)
	body := map[string]any{"video_id": v.ID, "prompt": prompt}
	if o.model != "" {
		body["model"] = o.model
	}
	if o.narrative {
		body["options"] = map[string]bool{"narrative": true}
	}
	a, err := s.CreateAnalysis(ctx, body, client.NewIdempotencyKey(), 0)
	if err != nil {
		return a, err
	}
	a, err = client.Follow(ctx, s.Client, a, client.PollEvery, func(a client.Analysis) {
		switch {
		case a.QueuePosition != nil:
			bar.Queued(*a.QueuePosition, a.EstimatedStartS)
		case a.Progress != nil:
			bar.Stage(a.Progress.Stage)
			bar.Set(int64(a.Progress.Percent), 100)
		}
	})
	if err == nil && a.Narrating() {
		bar.Stage("narrating")
		a = client.FollowNarrative(ctx, s.Client, a, client.PollEvery)
	}
	return a, err
}
