package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vqa/gpu/oip"
	"vqa/gpu/worker"
)

// checkWait bounds the look at what the configured servers serve, at start: one that is
// slow to load is looked at when it comes.
const checkWait = 10 * time.Second

// openEngine connects to the configured inference servers, or starts the embedded
// worker.
func (s *server) openEngine(ctx context.Context, c config, log *slog.Logger) error {
	if len(c.InferenceURL) > 0 {
		return s.openServers(ctx, c.InferenceURL, log)
	}
	// The worker ends with Close, after the jobs that use it.
	w, err := worker.Start(context.WithoutCancel(ctx), worker.Options{Dir: c.WorkerDir, Threads: c.InferenceThreads, Log: log})
	if err != nil {
		return fmt.Errorf("starting the embedded worker: %w", err)
	}
	s.engine = w.Engine()
	s.closers = append(s.closers, func() error { w.Close(); return nil })
	return nil
}

// openServers makes an engine of servers. That two serve different models is an error of
// whoever runs them, so nothing starts; that one is away is not.
func (s *server) openServers(ctx context.Context, urls []string, log *slog.Logger) error {
	pool, err := oip.Open(urls, oip.PoolOptions{Log: log})
	if err != nil {
		return fmt.Errorf("VQA_INFERENCE_URL: %w", err)
	}
	checking, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	if err := pool.Check(checking); errors.Is(err, oip.ErrOtherModel) {
		pool.Close()
		return fmt.Errorf("VQA_INFERENCE_URL: %w", err)
	}
	s.engine = pool
	s.closers = append(s.closers, func() error { pool.Close(); return nil })
	return nil
}
