package audit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/credit"
)

// transactionsSQL finds the events that recorded transactions of one ledger.
const transactionsSQL = "select type, data from events where stream = $1 and data->>'transaction_id' = any($2)"

// checkRefunds checks that the refunds of a transaction do not exceed it. Refunds are rare,
// so the originals are read at the end and not kept.
func (r *reader) checkRefunds(ctx context.Context, a *account) error {
	if len(a.refunds) == 0 {
		return nil
	}
	var ids []string
	for id := range a.refunds {
		ids = append(ids, id)
	}
	rows, err := r.tx.Query(ctx, transactionsSQL, a.head.stream, ids)
	if err != nil {
		return fmt.Errorf("find refunded transactions: %w", err)
	}
	originals := map[string]credit.Original{}
	var kind string
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&kind, &data}, func() error {
		// An unreadable event was reported when the ledger was folded.
		if event, err := r.codec.Unmarshal(kind, data); err == nil {
			if e, ok := event.(credit.Event); ok {
				if o, ok := credit.TransactionOf(e); ok {
					originals[o.TransactionID] = o
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("find refunded transactions: %w", err)
	}
	for id, at := range a.refunds {
		original, known := originals[id]
		switch moved := max(original.Seconds, -original.Seconds); {
		case !known:
			a.note(finding{Balance, fromFold, at.version, at, fmt.Sprintf("the event refunds %s, which is not a transaction of the account", id)})
		case a.state.Refunded[id] > moved:
			a.note(finding{Balance, fromFold, at.version, at, fmt.Sprintf("%d s of %s are refunded, but the transaction has %d s", a.state.Refunded[id], id, moved)})
		}
	}
	return nil
}
