package eventstore

import (
	"context"
	"errors"
)

// ErrLeaseOver means that the lease of a node is over. Another node may have taken up its work.
var ErrLeaseOver = errors.New("the lease of this node is over")

// Lease is the right of one incarnation of a node to work. A node that could not renew its lease in
// time stops all work of the incarnation and continues with a new lease.
type Lease interface {
	// Incarnation names the holder over all nodes and times.
	Incarnation() string
	// Context ends when the lease is over. Its cause is then ErrLeaseOver.
	Context() context.Context
	// Check returns ErrLeaseOver unless the lease lasts. It reads the clock: a process that was
	// stopped for a while may run on before its Context ends.
	Check() error
}

type leaseKey struct{}

// WithLease returns a context for work under a lease. It ends with ctx, with the lease, or by cancel.
func WithLease(ctx context.Context, l Lease) (_ context.Context, cancel context.CancelFunc) {
	ctx, stop := context.WithCancelCause(context.WithValue(ctx, leaseKey{}, l))
	detach := context.AfterFunc(l.Context(), func() { stop(ErrLeaseOver) })
	return ctx, func() { detach(); stop(context.Canceled) }
}

// CheckLease returns ErrLeaseOver when ctx belongs to work whose lease is over. Work without a lease,
// such as a request, may always continue.
func CheckLease(ctx context.Context) error {
	if l, ok := ctx.Value(leaseKey{}).(Lease); ok {
		return l.Check()
	}
	return nil
}
