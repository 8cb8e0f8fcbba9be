package main

import (
	"context"
	"fmt"
	"log/slog"

	"vqa/gpu/oip"
	"vqa/gpu/worker"
)

// openEngine connects to the configured inference server, or starts the embedded
// worker.
func (s *server) openEngine(ctx context.Context, c config, log *slog.Logger) error {
	if c.InferenceURL != "" {
		endpoint, err := oip.Fixed(c.InferenceURL)
		if err != nil {
			return fmt.Errorf("VQA_INFERENCE_URL: %w", err)
		}
		client := oip.New(endpoint, oip.Options{})
		s.engine = client
		s.closers = append(s.closers, func() error { client.Close(); return nil })
		return nil
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
