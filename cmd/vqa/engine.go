package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"vqa/domain/answer"
	"vqa/gpu"
	"vqa/gpu/oip"
	"vqa/gpu/worker"
)

// checkWait bounds the check of the configured servers at start. A server that loads more slowly is
// checked when it answers.
const checkWait = 10 * time.Second

// maxCalibrationBytes bounds the calibration file.
const maxCalibrationBytes = 1 << 20

// readCalibrations reads the calibration file. Without a path there are no calibrations.
func readCalibrations(path string) (answer.Calibrations, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := readSmall(path, maxCalibrationBytes)
	if err != nil {
		return nil, err
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
	// Close ends the worker after the jobs that use it, so ctx must not end it.
	w, err := worker.Start(context.WithoutCancel(ctx), worker.Options{Dir: c.WorkerDir, Threads: c.InferenceThreads, Timeout: c.InferenceTimeout, Log: log})
	if err != nil {
		return fmt.Errorf("starting the embedded worker: %w", err)
	}
	s.engine = w.Engine()
	s.closers = append(s.closers, func() error { w.Close(); return nil })
	return nil
}

// openServers makes an engine of servers. Two servers with different models are an error of
// configuration, so the service does not start. A server that does not answer is not an error.
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
	s.engine, s.vocabulary = pool, (&engineTerms{engine: pool, now: machineTime}).known
	s.closers = append(s.closers, func() error { pool.Close(); return nil })
	return nil
}

const (
	// vocabularyFor is how long a vocabulary is used before the engine is asked again.
	vocabularyFor = time.Minute
	// vocabularyRetry is the pause before an engine that did not answer is asked again.
	vocabularyRetry = 5 * time.Second
	// vocabularyWait bounds the request, because readers of the API wait for it.
	vocabularyWait = 200 * time.Millisecond
)

// engineTerms caches the classes of an engine's model, and keeps them while the engine does not
// answer.
type engineTerms struct {
	engine gpu.Engine
	now    func() time.Time

	mu    sync.Mutex
	again time.Time
	terms []string
	ok    bool
}

// known returns the classes of the model, or none when the model accepts any term. ok is false until
// the engine has answered once.
func (m *engineTerms) known(ctx context.Context) (terms []string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); !now.Before(m.again) {
		m.again = now.Add(vocabularyRetry)
		ctx, cancel := context.WithTimeout(ctx, vocabularyWait)
		defer cancel()
		if info, err := m.engine.Info(ctx); err == nil {
			m.again, m.terms, m.ok = now.Add(vocabularyFor), info.Vocabulary, true
		}
	}
	return m.terms, m.ok
}
