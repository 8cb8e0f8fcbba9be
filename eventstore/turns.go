package eventstore

import "context"

// Turns lets processes that write the same account at the same time take turns. A turn is an
// agreement: it prevents conflicts and is not needed for correctness, because each append asserts
// the versions that it was decided on.
type Turns interface {
	// Turn waits until this process may write an account, in the order of the calls of all
	// processes, and keeps the turn until end. It does not keep a process away that has not
	// asked. waited is true when another process had the turn. A process that is stopped loses its
	// turn soon, within CallerPatience.
	Turn(ctx context.Context, accountID string) (waited bool, end func(), err error)

	// Hold locks streams, so that no process can change them before the next Append with the
	// returned context, or before release. Load and Append of the store with this context use
	// the lock. An Append with it therefore meets no conflict about these streams. release must
	// be called, also after an Append. It returns a *ConflictError after a deadlock with an append
	// of another process.
	Hold(ctx context.Context, streams ...StreamID) (held context.Context, release func(), err error)
}
