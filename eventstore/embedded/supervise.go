package embedded

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// watchPoll is the pause between two looks at the process of the server. A process that is not a
	// child gives no signal when it ends. A look takes about 20 µs.
	watchPoll = 500 * time.Millisecond
	// restartPause is the shortest pause between the first restart and the second one. Each further
	// restart doubles it, up to restartPauseMax.
	restartPause    = time.Second
	restartPauseMax = 30 * time.Second
	// restartCalm is the time without a restart after which the pauses start from the shortest again.
	restartCalm = 2 * time.Minute
)

// Supervise restarts the server when it has ended, until ctx ends. It uses the same port and data
// folder. Every user of a server may call it: only one restarts the server, and the others adopt it.
// Call Close after Supervise has returned.
//
// All users together follow one schedule of pauses, which is in the file "restarts". So a server that
// ends again and again is restarted at most once in 30 seconds, for any number of users.
func (s *Server) Supervise(ctx context.Context) {
	tick := time.NewTicker(watchPoll)
	defer tick.Stop()
	var next time.Time // no restart before this time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if pm, ok, err := s.cluster.running(); err == nil && ok && s.mine(pm) {
			next = time.Time{}
			continue
		}
		if time.Now().Before(next) {
			continue
		}
		pause, err := s.restart(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.Error("cannot restart the embedded Postgres; trying again", "in", pause, "error", err)
		}
		next = time.Now().Add(pause)
	}
}

// mine reports whether the server listens on the port of this user.
func (s *Server) mine(pm postmaster) bool { return pm.port == s.port }

// restart starts the server unless another user has done it. When the next attempt must wait, it does
// nothing and returns the pause.
func (s *Server) restart(ctx context.Context) (pause time.Duration, err error) {
	start, err := openLock(s.cluster.home, "start.lock")
	if err != nil {
		return restartPause, err
	}
	defer func() { _ = start.release() }() // the kernel drops the lock in any case
	if err := start.wait(ctx); err != nil {
		return restartPause, err
	}
	pm, ok, err := s.cluster.running()
	if err != nil {
		return restartPause, err
	}
	if ok && s.mine(pm) {
		s.log.Info("another process restarted the embedded Postgres", "port", s.port)
		return 0, nil
	}
	if ok {
		return restartPauseMax, fmt.Errorf("the server of the data folder listens on port %d instead of %d: stop it, or restart this process", pm.port, s.port)
	}
	h := s.cluster.restarts()
	now := time.Now()
	if wait := h.wait(now); wait > 0 {
		return wait, nil
	}
	h = h.next(now)
	if err := s.cluster.keepRestarts(h); err != nil {
		return h.wait(now), err
	}
	s.log.Warn("the embedded Postgres has ended; restarting it", "port", s.port, "restart", h.Count)
	if err := s.relaunch(ctx); err != nil {
		return h.wait(now), err
	}
	s.log.Warn("the embedded Postgres runs again", "port", s.port, "took", time.Since(now).Round(time.Millisecond))
	return 0, nil
}

// relaunch starts the server on its port and waits until it responds. The caller holds the start lock.
func (s *Server) relaunch(ctx context.Context) error {
	if _, err := s.cluster.launch(ctx, s.bin, s.port, s.settings...); err != nil {
		return err
	}
	return s.cluster.ping(ctx, s.URL("postgres"))
}

// restarts is the recent history of restarts, which all users of a server share.
type restarts struct {
	// Count is the number of restarts that followed one another within restartCalm.
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
}

// wait returns the time until the next restart may happen.
func (r restarts) wait(now time.Time) time.Duration {
	since := now.Sub(r.Last)
	// The clock of the machine may have been set back.
	if r.Count == 0 || since < 0 || since >= restartCalm {
		return 0
	}
	pause := restartPauseMax
	if doublings := r.Count - 1; doublings < 5 {
		pause = min(restartPause<<doublings, restartPauseMax)
	}
	return max(0, pause-since)
}

// next returns the history with one more restart.
func (r restarts) next(now time.Time) restarts {
	since := now.Sub(r.Last)
	if since < 0 || since >= restartCalm {
		r.Count = 0
	}
	return restarts{Count: r.Count + 1, Last: now}
}

func (c cluster) restartsFile() string { return filepath.Join(c.home, "restarts") }

// restarts reads the history. A missing or unreadable file is an empty history. The caller holds the
// start lock.
func (c cluster) restarts() restarts {
	var r restarts
	text, err := os.ReadFile(c.restartsFile())
	if err != nil || json.Unmarshal(text, &r) != nil {
		return restarts{}
	}
	return r
}

// keepRestarts writes the history. The caller holds the start lock.
func (c cluster) keepRestarts(r restarts) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(c.restartsFile(), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("record the restart: %w", err)
	}
	return nil
}
