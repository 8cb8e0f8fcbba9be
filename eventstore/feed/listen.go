package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore/postgres"
)

// The listening connection: how often it is proven alive, and the pauses between
// attempts to get a new one.
const (
	listenProbe     = 30 * time.Second
	listenTimeout   = 10 * time.Second
	reconnectMin    = 100 * time.Millisecond
	reconnectMax    = 5 * time.Second
	closeConnection = 2 * time.Second
)

// Run wakes the subscriptions of this feed when events are committed, until ctx
// ends; then it returns nil. Without it they notice by polling.
func (f *Feed) Run(ctx context.Context) error {
	pause := reconnectMin
	for ctx.Err() == nil {
		heard, err := f.listen(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was asked to end
		}
		if heard {
			pause = reconnectMin
		}
		f.log.WarnContext(ctx, "the wake-up connection was lost; subscribers poll meanwhile", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, reconnectMax)
	}
	return nil
}

// listen wakes on each notification until the connection fails. heard says whether
// it ever listened.
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
	// What was committed before is not announced again.
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

// waitOnce returns after a notification, or after a probe of a silent connection.
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

// A waker is a channel of one token: wake-ups that come together are one.
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
