package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
)

// deadlines sets a deadline for every statement whose context has an eventstore.Patience, and for the
// wait for a free connection. A server that hangs keeps its sockets open, so neither
// statement_timeout nor TCP ends the wait. pgx uses the context that a tracer returns for the rest
// of the call. So this works for every query of the service without changing the callers.
type deadlines struct{}

var (
	_ pgx.QueryTracer       = deadlines{}
	_ pgx.BatchTracer       = deadlines{}
	_ pgxpool.AcquireTracer = deadlines{}
)

// wait is one statement, or one wait for a connection.
type wait struct {
	patience *eventstore.Patience
	caller   context.Context
	began    time.Time
	cancel   context.CancelFunc
}

type waitKey struct{}

func begin(ctx context.Context) context.Context {
	p := eventstore.PatienceOf(ctx)
	if p == nil {
		return ctx
	}
	w := &wait{patience: p, caller: ctx, began: time.Now()}
	ctx, w.cancel = context.WithTimeout(ctx, p.Left())
	return context.WithValue(ctx, waitKey{}, w)
}

func end(ctx context.Context, err error) {
	w, ok := ctx.Value(waitKey{}).(*wait)
	if !ok {
		return
	}
	// A connection attempt of the pool has a deadline of its own, and a concurrent statement may have restored
	// the Patience.
	silent := (errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)) && w.caller.Err() == nil
	w.cancel()
	var refused *pgconn.PgError
	switch {
	case err == nil || errors.As(err, &refused):
		w.patience.Answered()
	case silent:
		w.patience.Waited(w.patience.Left())
	default:
		w.patience.Waited(time.Since(w.began))
	}
}

// TraceQueryStart implements pgx.QueryTracer.
func (deadlines) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return begin(ctx)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (deadlines) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	end(ctx, data.Err)
}

// TraceBatchStart implements pgx.BatchTracer.
func (deadlines) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return begin(ctx)
}

// TraceBatchQuery implements pgx.BatchTracer. It does nothing, because the statements of a batch share
// one round trip.
func (deadlines) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (deadlines) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	end(ctx, data.Err)
}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (deadlines) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return begin(ctx)
}

// TraceAcquireEnd implements pgxpool.AcquireTracer. A free connection does not mean that the server
// responds, so it does not restore the Patience.
func (deadlines) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, data pgxpool.TraceAcquireEndData) {
	if data.Err != nil {
		end(ctx, data.Err)
		return
	}
	if w, ok := ctx.Value(waitKey{}).(*wait); ok {
		w.cancel()
		w.patience.Waited(time.Since(w.began))
	}
}
