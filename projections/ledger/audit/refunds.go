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
func (r *reader) checkRefunds(ctx context.Context, h *history) error {
	if len(h.refunds) == 0 {
		return nil
	}
	var ids []string
	for id := range h.refunds {
		ids = append(ids, id)
	}
	rows, err := r.tx.Query(ctx, transactionsSQL, h.head.stream, ids)
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
	state, _ := h.state.(credit.State)
	for id, at := range h.refunds {
		original, known := originals[id]
		switch moved := max(original.Seconds, -original.Seconds); {
		case !known:
			h.find(Balance, at.version, at.position, "the event refunds %s, which is not a transaction of the account", id)
		case state.Refunded[id] > moved:
			h.find(Balance, at.version, at.position, "%d s of %s are refunded, but the transaction has %d s", state.Refunded[id], id, moved)
		}
	}
	return nil
}
