package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore/postgres"
)

// The listening connection: how often it is checked, and the pauses between attempts to reconnect.
const (
	listenProbe     = 30 * time.Second
	listenTimeout   = 10 * time.Second
	reconnectMin    = 100 * time.Millisecond
	reconnectMax    = 5 * time.Second
	closeConnection = 2 * time.Second
)

// Run wakes the subscriptions of this feed when events are committed. It returns nil when ctx ends.
// Without Run, subscriptions find new events by polling.
func (f *Feed) Run(ctx context.Context) error {
	pause := reconnectMin
	for ctx.Err() == nil {
		heard, err := f.listen(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller ended it
		}
		if heard {
			pause = reconnectMin
		}
		f.log.WarnContext(ctx, "lost the connection for notifications; subscribers poll until it is back", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, reconnectMax)
	}
	return nil
}

// listen wakes the subscriptions on each notification until the connection fails. heard is true when
// it had started to listen.
func (f *Feed) listen(ctx context.Context) (heard bool, err error) {
	conn, err := f.dial(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeConnection)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	// Earlier commits are not notified again.
	f.wakeAll()
	for {
		if err := waitOnce(ctx, conn); err != nil {
			return true, err
		}
		f.wakeAll()
	}
}

func (f *Feed) dial(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, f.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if _, err := conn.Exec(ctx, "listen "+postgres.Channel); err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), conn.Close(ctx))
	}
	return conn, nil
}

// waitOnce returns after a notification, or after a ping when there was none for listenProbe.
func waitOnce(ctx context.Context, conn *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, listenProbe)
	defer cancel()
	_, err := conn.WaitForNotification(waiting)
	if err == nil || ctx.Err() != nil || !errors.Is(waiting.Err(), context.DeadlineExceeded) {
		return err
	}
	probing, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	return conn.Ping(probing)
}

// A waker is a channel with room for one token, so that simultaneous notifications become one.
func (f *Feed) addWaker() chan struct{} {
	wake := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakers[wake] = struct{}{}
	return wake
}

func (f *Feed) removeWaker(wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.wakers, wake)
}

func (f *Feed) wakeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for wake := range f.wakers {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}
