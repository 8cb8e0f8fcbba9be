package feed

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"time"

	"vqa/eventstore"
)

// slowAttempt is the time after which a failed attempt counts as slow. The other events of its account
// in the same batch are then postponed, so that the other accounts wait for one slow attempt only.
const slowAttempt = 100 * time.Millisecond

// failures is the memory of a subscription about failed attempts.
type failures struct {
	// waiting is true when events of the group are set aside.
	waiting bool
	// slowNow has the accounts with a slow failure in this batch. slow has the accounts without
	// further attempts in this batch: these, and in a batch of the log those of the last batch.
	slow, slowNow map[string]bool
	// lost has the failed attempts that their transaction did not survive.
	lost lostAttempts
	// replayed describes the event at which a replay waits.
	replayed struct {
		position int64
		attempts int
		// again is the time of the next attempt.
		again time.Time
		// stopped is the position of the event that this batch will not pass, or 0.
		stopped int64
	}
}

// begin prepares for a batch.
func (f *failures) begin(t turn, waiting bool) {
	f.waiting, f.replayed.stopped = waiting, 0
	f.slow = map[string]bool{}
	if t == turnLog {
		maps.Copy(f.slow, f.slowNow)
	}
	f.slowNow = map[string]bool{}
}

// wasSlow notes a slow failure.
func (f *failures) wasSlow(account string) { f.slow[account], f.slowNow[account] = true, true }

// lostAttempts keeps failed attempts by position until a transaction has recorded them.
type lostAttempts struct {
	errs  map[int64]error
	taken []int64
}

func (l *lostAttempts) note(position int64, err error) {
	if l.errs == nil || len(l.errs) > batchSize { // another process has the others
		l.errs = map[int64]error{}
	}
	l.errs[position] = errors.New(err.Error()) // no longer a lostError
}

// take returns the error of an attempt that was lost, or nil.
func (l *lostAttempts) take(position int64) error {
	err := l.errs[position]
	if err != nil {
		l.taken = append(l.taken, position)
	}
	return err
}

// recorded forgets the attempts that this batch took, when the batch is done.
func (l *lostAttempts) recorded(done bool) {
	if done {
		for _, position := range l.taken {
			delete(l.errs, position)
		}
	}
	l.taken = nil
}

// pauseAfter returns the pause after a number of failed attempts: it doubles each time.
func (s *source) pauseAfter(attempts int) time.Duration {
	pause := s.firstPause
	for n := 1; n < attempts && pause < maxPause; n++ {
		pause *= 2
	}
	return min(pause, maxPause)
}

// mustWait sets an event aside behind an earlier one of its stream, if there is one.
func (s *source) mustWait(ctx context.Context, tx *sql.Tx, d delivery) (behind bool, err error) {
	done, err := tx.ExecContext(ctx, `insert into set_aside (subscription, position, stream, attempts, error)
		select $1, $2, $3, 0, '' where exists (select from set_aside where subscription = $1 and stream = $3)`,
		s.group, d.position, d.stream)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// postpone leaves an event to a later batch. It is not an attempt.
func (s *source) postpone(ctx context.Context, tx *sql.Tx, d delivery) error {
	switch s.turn {
	case turnReplay:
		s.replayed.stopped = d.position
		return nil
	case turnRetry:
		_, err := tx.ExecContext(ctx, "update set_aside set due_at = clock_timestamp() where subscription = $1 and position = $2",
			s.group, d.position)
		return err
	default:
		return s.setAside(ctx, tx, d, "", 0)
	}
}

// setAside makes an event of the log the first of its stream that waits.
func (s *source) setAside(ctx context.Context, tx *sql.Tx, d delivery, cause string, pause time.Duration) error {
	s.waiting = true
	_, err := tx.ExecContext(ctx, `insert into set_aside (subscription, position, stream, attempts, error, due_at)
		values ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6))`,
		s.group, d.position, d.stream, d.attempts, cause, pause.Seconds())
	return err
}

// succeeded records that an event is handled.
func (s *source) succeeded(ctx context.Context, tx *sql.Tx, d delivery) error {
	if s.turn == turnLog {
		return nil
	}
	// A parked event was handled after all.
	_, err := tx.ExecContext(ctx, "delete from parked where subscription = $1 and position = $2", s.group, d.position)
	if err == nil && s.turn == turnRetry {
		err = s.letPass(ctx, tx, d)
	}
	return err
}

// letPass removes an event from those that are set aside. The next one of its stream is due.
func (s *source) letPass(ctx context.Context, tx *sql.Tx, d delivery) error {
	_, err := tx.ExecContext(ctx, "delete from set_aside where subscription = $1 and position = $2", s.group, d.position)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `update set_aside set due_at = clock_timestamp() where subscription = $1 and position =
		(select min(position) from set_aside where subscription = $1 and stream = $2)`, s.group, d.stream)
	return err
}

// failed sets an event aside for another attempt, or parks it after the last one.
func (s *source) failed(ctx context.Context, tx *sql.Tx, d delivery, kind string, cause error) error {
	if s.turn == turnReplay && s.replayed.position == d.position {
		d.attempts = s.replayed.attempts
	}
	d.attempts++
	var undecodable *undecodableError
	if errors.Is(cause, eventstore.ErrUnknownEvent) {
		if held, err := s.hold(ctx, tx, d, kind, cause); err != nil || held {
			return err
		}
	}
	if d.attempts >= s.attempts || errors.As(cause, &undecodable) {
		return s.park(ctx, tx, d, kind, cause)
	}
	pause := s.pauseAfter(d.attempts)
	switch s.turn {
	case turnReplay:
		r := &s.replayed
		r.position, r.attempts, r.again, r.stopped = d.position, d.attempts, time.Now().Add(pause), d.position
		return nil
	case turnRetry:
		_, err := tx.ExecContext(ctx, `update set_aside set attempts = $3, error = $4, due_at = clock_timestamp() + make_interval(secs => $5)
			where subscription = $1 and position = $2`, s.group, d.position, d.attempts, errorText(cause), pause.Seconds())
		return err
	default:
		return s.setAside(ctx, tx, d, errorText(cause), pause)
	}
}

// hold sets an event of an unknown type aside for a node that knows it, and leaves the group to that
// node. It returns false when the event is too old to wait any longer.
func (s *source) hold(ctx context.Context, tx *sql.Tx, d delivery, kind string, cause error) (held bool, err error) {
	done, err := tx.ExecContext(ctx, `insert into set_aside (subscription, position, stream, attempts, error, due_at)
		select $1, position, stream, 0, $3, clock_timestamp() from events
		 where position = $2 and recorded_at >= clock_timestamp() - make_interval(secs => $4)`,
		s.group, d.position, errorText(cause), s.unknownFor.Seconds())
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	if err != nil || n == 0 {
		return false, err
	}
	s.waiting, s.giveWay = true, true
	s.log.WarnContext(ctx, "an event waits for a node of the newer release that wrote it", "position", d.position, "type", kind)
	return true, nil
}

// park skips an event that the group could not handle.
func (s *source) park(ctx context.Context, tx *sql.Tx, d delivery, kind string, cause error) error {
	s.log.ErrorContext(ctx, "an event was parked", "position", d.position, "type", kind, "attempts", d.attempts, "error", cause)
	_, err := tx.ExecContext(ctx, `insert into parked (subscription, position, error, attempts)
		values ($1, $2, $3, $4)
		on conflict (subscription, position) do update
		set error = excluded.error, attempts = parked.attempts + excluded.attempts, at = clock_timestamp()`,
		s.group, d.position, errorText(cause), d.attempts)
	switch {
	case err != nil:
	case s.turn == turnReplay:
		_, err = tx.ExecContext(ctx, "update replays set failed = failed + 1 where id = $1::bigint", d.replay)
	case s.turn == turnRetry:
		err = s.letPass(ctx, tx, d)
	}
	return err
}

// maxParkedError bounds the text of a stored error, in characters.
const maxParkedError = 4000

func errorText(cause error) string {
	text := []rune(cause.Error())
	return string(text[:min(len(text), maxParkedError)])
}
