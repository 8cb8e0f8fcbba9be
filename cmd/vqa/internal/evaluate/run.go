package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
)

const (
	// concurrency keeps the engine busy, and stays below any useful limit of unfinished analyses.
	concurrency = 4
	// pollEvery is slower than for a single question: all questions share the rate of one key.
	pollEvery = time.Second
	// firstWait is the "Prefer: wait" of each question. Polling starts after it.
	firstWait = time.Minute
)

// Options are the parts of an evaluation.
type Options struct {
	Client *client.Client
	// Dir is the folder of the clips.
	Dir string
	// Unfinished is the largest number of unfinished analyses that the server accepts.
	Unfinished int
	// Ready waits until the server can take work.
	Ready func(context.Context)
	// Notices gets the progress.
	Notices io.Writer
}

// Run uploads each clip once and asks every question. The outcomes are in the order of the
// questions.
func Run(ctx context.Context, o Options, questions []Case) ([]Outcome, error) {
	videos, err := uploadClips(ctx, o, questions)
	if err != nil {
		return nil, err
	}
	o.Ready(ctx)
	bar := terminal.NewProgress(o.Notices, "asking", "questions")
	defer bar.Finish()
	bar.Set(0, int64(len(questions)))
	outcomes := make([]Outcome, len(questions))
	errs := make([]error, len(questions))
	next := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex
	done := int64(0)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range min(concurrency, o.Unfinished) {
		workers.Go(func() {
			for i := range next {
				if outcomes[i], errs[i] = answerOne(ctx, o.Client, videos[questions[i].File], questions[i]); errs[i] != nil {
					stop() // the rest would fail too, without a server or without credits
				}
				mu.Lock()
				done++
				bar.Set(done, int64(len(questions)))
				mu.Unlock()
			}
		})
	}
feeding:
	for i := range questions {
		select {
		case next <- i:
		case <-ctx.Done():
			break feeding
		}
	}
	close(next)
	workers.Wait()
	return outcomes, errors.Join(errs...)
}

// uploadClips uploads each clip once and returns the ids of the videos by file.
func uploadClips(ctx context.Context, o Options, questions []Case) (map[string]string, error) {
	files := Clips(questions)
	bar := terminal.NewProgress(o.Notices, "uploading", "clips")
	defer bar.Finish()
	videos := map[string]string{}
	for i, file := range files {
		bar.Set(int64(i), int64(len(files)))
		id, err := uploadClip(ctx, o.Client, filepath.Join(o.Dir, file))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		videos[file] = id
	}
	return videos, nil
}

func uploadClip(ctx context.Context, c *client.Client, path string) (id string, err error) {
	src, err := client.OpenSource(path)
	if err != nil {
		return "", err
	}
	defer src.Close()
	v, err := src.Register(ctx, c, func(int64, int64) {})
	return v.ID, err
}

// answerOne asks one question. A failed analysis is an outcome. An error ends the evaluation.
func answerOne(ctx context.Context, c *client.Client, videoID string, q Case) (Outcome, error) {
	body := map[string]any{"video_id": videoID, "prompt": q.Question}
	a, err := c.CreateAnalysis(ctx, body, client.NewIdempotencyKey(), firstWait)
	if err == nil {
		a, err = client.Follow(ctx, c, a, pollEvery, func(client.Analysis) {})
	}
	if err != nil {
		return Outcome{Case: q}, fmt.Errorf("%s: %q: %w", q.File, q.Question, err)
	}
	if a.Result == nil {
		o := Outcome{Case: q, Failure: a.Status}
		if a.Error != nil {
			o.Failure = a.Error.Error()
		}
		return o, nil
	}
	return judge(q, a.Result), nil
}
