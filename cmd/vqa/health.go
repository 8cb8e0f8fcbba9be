package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/fault"
)

const (
	// probeFor is how long the result of a probe is used again. Load balancers ask often, and a
	// probe writes.
	probeFor = 2 * time.Second
	// probeTimeout bounds one probe. A disk that hangs ignores it, but no request waits for it.
	probeTimeout = 2 * time.Second
)

// healthProbe tests a part of the infrastructure for GET /readyz. Callers at the same time share one test.
type healthProbe struct {
	test func(context.Context) error

	mu      sync.Mutex
	running chan struct{}
	endedAt time.Time
	last    error
}

// Check returns the last result while it is new, else that of a new test. It waits until ctx ends
// at the latest.
func (p *healthProbe) Check(ctx context.Context) error {
	done := p.begin(ctx)
	if done == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.last
	}
	select {
	case <-done:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.last
	case <-ctx.Done():
		return fmt.Errorf("the test has not ended: %w", ctx.Err())
	}
}

// begin starts a test, unless one runs. It returns nil when the last result is new.
func (p *healthProbe) begin(ctx context.Context) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		return p.running
	}
	if !p.endedAt.IsZero() && time.Since(p.endedAt) < probeFor {
		return nil
	}
	done := make(chan struct{})
	p.running = done
	go func() {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
		err := p.test(limited)
		cancel()
		p.mu.Lock()
		p.last, p.endedAt, p.running = err, time.Now(), nil
		p.mu.Unlock()
		close(done)
	}()
	return done
}

// errReadOnly is the error of a database that accepts no writes.
var errReadOnly = errors.New("the database is read-only: this is a standby, or default_transaction_read_only is on")

// writeDatabase commits a record to the write-ahead log of the database. It needs no table, so probes
// leave nothing behind.
func (s *server) writeDatabase(ctx context.Context) error {
	var position string
	err := s.pool.QueryRow(ctx, `
		select pg_logical_emit_message(true, 'vqa', 'readyz')::text
		where not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'`).Scan(&position)
	if errors.Is(err, pgx.ErrNoRows) {
		err = errReadOnly
	}
	if err != nil {
		return fault.New(fault.DBUnavailable, "").WithCause(err)
	}
	return nil
}

// tempBytes is the size of the file that writeTemp writes.
const tempBytes = 1 << 20

// writeTemp writes a file to the folder for temporary files, which analyses and drawings need.
func writeTemp(context.Context) (err error) {
	file, err := os.CreateTemp("", "vqa-probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	_, err = file.Write(make([]byte, tempBytes))
	return err
}

// engineAnswers returns an error when the engine does not answer. An engine without room answers.
func (s *server) engineAnswers(ctx context.Context) error {
	if err := s.capacity.InferenceReady(ctx); err != nil && !fault.Has(err, fault.CapacityExhausted) {
		return err
	}
	return nil
}
