package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"vqa/domain/fault"
	"vqa/domain/stream"
)

const (
	// recordTimeout bounds a call of the log.
	recordTimeout = 5 * time.Second
	// The waits before a command is repeated.
	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 2 * time.Second
)

// clerk writes the commands of a session to the log, one after the other, and repeats what the log did not
// take. It is safe for concurrent use.
type clerk struct {
	log Log
	id  string
	// heard is called after each attempt, one at a time. state is the latest one, or the zero value when
	// the log did not answer. It must not block.
	heard func(c stream.Command, st stream.State, f Funds, err error)

	recording sync.Mutex // held by a call of the log, so that states are heard in their order

	mu    sync.Mutex
	queue []*entry
	wake  chan struct{} // has a token when queue has a command
}

func newClerk(log Log, id string, heard func(stream.Command, stream.State, Funds, error)) *clerk {
	return &clerk{log: log, id: id, heard: heard, wake: make(chan struct{}, 1)}
}

// record writes a command of the client at once. The error is for the client.
func (k *clerk) record(ctx context.Context, c stream.Command) error {
	err := k.call(ctx, c)
	if err != nil && fault.Of(err) == nil {
		f := fault.New(fault.DBUnavailable, "")
		f.Cause = err
		return f
	}
	return err
}

func (k *clerk) call(ctx context.Context, c stream.Command) error {
	k.recording.Lock()
	defer k.recording.Unlock()
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	st, funds, err := k.log.Record(ctx, k.id, c)
	k.heard(c, st, funds, err)
	return err
}

// push adds a command. It removes commands that the new one makes needless, so that few wait in an outage.
func (k *clerk) push(c stream.Command) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.queue); n > 0 {
		last := k.queue[n-1]
		_, wasMeter := last.command.(stream.Meter)
		_, wasPause := last.command.(stream.Pause)
		switch c.(type) {
		case stream.Meter, stream.Pause, stream.End:
			if wasMeter {
				k.queue = k.queue[:n-1] // c has a later clock
			}
		case stream.Resume:
			if wasPause && !last.tried {
				k.queue = k.queue[:n-1] // the log never knew
				return
			}
		}
	}
	k.queue = append(k.queue, &entry{command: c})
	notify(k.wake)
}

// entry is a command that waits.
type entry struct {
	command stream.Command
	tried   bool // the log may have taken it
}

// run writes until ctx ends.
func (k *clerk) run(ctx context.Context) {
	backOff := time.Duration(0)
	for {
		e := k.first()
		if e == nil {
			select {
			case <-k.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := k.call(ctx, e.command)
		switch {
		case ctx.Err() != nil:
			return
		case away(err):
			backOff = min(max(2*backOff, firstBackOff), lastBackOff)
			sleep(ctx, backOff)
		default:
			backOff = 0
			k.remove(e)
		}
	}
}

// first returns the command to write, or nil.
func (k *clerk) first() *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) == 0 {
		return nil
	}
	k.queue[0].tried = true
	return k.queue[0]
}

// remove removes a command that the log took or refused, unless push has removed it.
func (k *clerk) remove(e *entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) > 0 && k.queue[0] == e {
		k.queue = k.queue[1:]
	}
}

// away reports whether the log did not decide a command.
func away(err error) bool {
	if err == nil {
		return false
	}
	var f *fault.Fault
	return !errors.As(err, &f) || fault.Lookup(f.Code).Retryable
}
