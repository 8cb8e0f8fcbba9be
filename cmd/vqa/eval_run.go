package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
)

const (
	// evalConcurrency keeps below the least cap of unfinished analyses that makes
	// sense, and is enough to keep the engine busy.
	evalConcurrency = 4
	// evalPoll is slower than that of one question: all of them share the key's rate.
	evalPoll = time.Second
	// evalWait is what the server is asked to wait before it is polled.
	evalWait = time.Minute
)

// evaluate uploads each clip once and asks every question. Its outcomes are in the
// order of the questions.
func evaluate(ctx context.Context, s *session, dir string, questions []question, notices io.Writer) ([]outcome, error) {
	videos, err := uploadClips(ctx, s, dir, questions, notices)
	if err != nil {
		return nil, err
	}
	s.awaitReady(ctx)
	bar := terminal.NewProgress(notices, "asking", "questions")
	defer bar.Finish()
	bar.Set(0, int64(len(questions)))
	outcomes := make([]outcome, len(questions))
	errs := make([]error, len(questions))
	next := make(chan int)
	var workers sync.WaitGroup
	var mu sync.Mutex
	done := int64(0)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range min(evalConcurrency, s.config.MaxConcurrentAnalyses) {
		workers.Go(func() {
			for i := range next {
				if outcomes[i], errs[i] = answerOne(ctx, s.Client, videos[questions[i].File], questions[i]); errs[i] != nil {
					stop() // without a server or credits the rest would fail alike
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

// uploadClips uploads each clip once and returns the ids by file.
func uploadClips(ctx context.Context, s *session, dir string, questions []question, notices io.Writer) (map[string]string, error) {
	var files []string
	for _, q := range questions {
		if !slices.Contains(files, q.File) {
			files = append(files, q.File)
		}
	}
	bar := terminal.NewProgress(notices, "uploading", "clips")
	defer bar.Finish()
	videos := map[string]string{}
	for i, file := range files {
		bar.Set(int64(i), int64(len(files)))
		id, err := uploadClip(ctx, s.Client, filepath.Join(dir, file))
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

// answerOne asks one question. An analysis that fails is an outcome; an error is
// what keeps the evaluation from going on.
func answerOne(ctx context.Context, c *client.Client, videoID string, q question) (outcome, error) {
	body := map[string]any{"video_id": videoID, "prompt": q.Question}
	a, err := c.CreateAnalysis(ctx, body, client.NewIdempotencyKey(), evalWait)
	if err == nil {
		a, err = client.Follow(ctx, c, a, evalPoll, func(client.Analysis) {})
	}
	if err != nil {
		return outcome{question: q}, fmt.Errorf("%s: %q: %w", q.File, q.Question, err)
	}
	if a.Result == nil {
		o := outcome{question: q, Failure: a.Status}
		if a.Error != nil {
			o.Failure = a.Error.Error()
		}
		return o, nil
	}
	return judge(q, a.Result), nil
}
