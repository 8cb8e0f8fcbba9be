// Package deliveries has the tables of webhook deliveries and the queue of their attempts. A
// delivery is one public event for one target. A target is an endpoint, or a host that analyses
// name for their own events (handlers/webhook).
//
// # Tables
//
//	webhook_bodies      the bytes of each event, stored once; removed with the resource
//	webhook_deliveries  one row for each pair of an event and a target
//	webhook_attempts    the attempts of each delivery
//	webhook_queue       the deliveries that wait for an attempt or are in one
//	webhook_turns       one row for each target: when it is due, its last turn, its failures
//
// The first three are partitioned by week. A partition is made before its week begins, or when the
// first event of the week is planned.
//
// # Planning
//
// Plan adds all rows of an event in one statement. The keys contain the event and the target, so
// that a repetition adds nothing.
//
// # Turns
//
// Claim takes due deliveries by turns of their targets: the target whose last turn is the longest
// ago comes first, and each gets one place before another gets a second. So 10,000 deliveries that
// wait for a server that hangs delay no other target.
//
//	in flight to one target         4 over all nodes; the places are shared equally among the nodes
//	  after 10 failures in a row    1 on each node, until a success
//	in flight for one account       20 on each node, and a quarter of the node's free places; at least 1
//
// The places of a target are shared among the nodes because those of a dead node come back only
// when its lease is over. The other nodes continue with theirs meanwhile.
//
// A claim locks the rows of the turns (for update skip locked) in a first statement. It reads the
// queue in a second one, whose snapshot has all that earlier holders of these locks have committed.
// So the limit of a target holds over all nodes. The update repeats the condition that the row is
// not claimed.
//
// # Invariant of the turns
//
// The column next_due is at most the time of the first unclaimed delivery of the target, or the
// target has no free place. Plan, Claim and Refresh keep it. Repair restores it after a crash
// between a result and its Refresh.
//
// # Claims
//
// A claim belongs to one incarnation of a node and lasts as long as its lease (eventstore/node).
// Recover returns the claims of incarnations that are over. Their attempts are recorded as
// interrupted: the receiver may have got them. Record accepts a result only from the holder of the
// claim, so an attempt that was overtaken changes nothing.
//
// It may import pgx, domain/fault, domain/webhook and projections.
package deliveries
