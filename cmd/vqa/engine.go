package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"vqa/domain/answer"
	"vqa/gpu"
	"vqa/gpu/oip"
	"vqa/gpu/worker"
)

// checkWait bounds the look at what the configured servers serve, at start: one that is
// slow to load is looked at when it comes.
const checkWait = 10 * time.Second

// maxCalibrationBytes bounds the file of calibrations.
const maxCalibrationBytes = 1 << 20

// readCalibrations reads the operator's calibrations; there are none without a file.
func readCalibrations(path string) (answer.Calibrations, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	raw, err := io.ReadAll(io.LimitReader(file, maxCalibrationBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxCalibrationBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxCalibrationBytes)
	}
	return answer.ParseCalibrations(raw)
}

// openEngine connects to the configured inference servers, or starts the embedded
// worker.
func (s *server) openEngine(ctx context.Context, c config, log *slog.Logger) (err error) {
	if s.calibrations, err = readCalibrations(c.CalibrationFile); err != nil {
		return fmt.Errorf("VQA_CALIBRATION_FILE: %w", err)
	}
	if len(c.InferenceURL) > 0 {
		return s.openServers(ctx, c, log)
	}
	// The worker ends with Close, after the jobs that use it.
	w, err := worker.Start(context.WithoutCancel(ctx), worker.Options{Dir: c.WorkerDir, Threads: c.InferenceThreads, Timeout: c.InferenceTimeout, Log: log})
	if err != nil {
		return fmt.Errorf("starting the embedded worker: %w", err)
	}
	s.engine = w.Engine()
	s.closers = append(s.closers, func() error { w.Close(); return nil })
	return nil
}

// openServers makes an engine of servers. That two serve different models is an error of
// whoever runs them, so nothing starts; that one is away is not.
func (s *server) openServers(ctx context.Context, c config, log *slog.Logger) error {
	pool, err := oip.Open(c.InferenceURL, oip.PoolOptions{Options: oip.Options{Timeout: c.InferenceTimeout}, Log: log})
	if err != nil {
		return fmt.Errorf("VQA_INFERENCE_URL: %w", err)
	}
	checking, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	if err := pool.Check(checking); errors.Is(err, oip.ErrOtherModel) {
		pool.Close()
		return fmt.Errorf("VQA_INFERENCE_URL: %w", err)
	}
	s.engine, s.vocabulary = pool, (&modelWords{engine: pool, now: clock}).known
	s.closers = append(s.closers, func() error { pool.Close(); return nil })
	return nil
}

const (
	// wordsFor is how long what a server said that its model knows is not asked again.
	wordsFor = time.Minute
	// wordsRetry is when a server that did not say is asked again.
	wordsRetry = 5 * time.Second
	// wordsWait bounds the question: a read is not kept waiting for a server.
	wordsWait = 200 * time.Millisecond
)

// modelWords remembers what the model of an engine knows, through times when the engine
// is away.
type modelWords struct {
	engine gpu.Engine
	now    func() time.Time

	mu    sync.Mutex
	again time.Time
	terms []string
	ok    bool
}

// known returns the terms of the model, none when it is open; ok is false until the
// engine has said.
func (m *modelWords) known(ctx context.Context) (terms []string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); !now.Before(m.again) {
		m.again = now.Add(wordsRetry)
		ctx, cancel := context.WithTimeout(ctx, wordsWait)
		defer cancel()
		if info, err := m.engine.Info(ctx); err == nil {
			m.again, m.terms, m.ok = now.Add(wordsFor), info.Vocabulary, true
		}
	}
	return m.terms, m.ok
}
