package ledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"vqa/domain/credit"
)

// sweepLimit is the largest number of accounts in one pass of a sweep. The next pass
// continues.
const sweepLimit = 500

// ExpiredHold is an open hold after its expiry.
type ExpiredHold struct {
	AccountID string
	credit.OpenHold
}

// ExpiredHolds returns the open holds that have expired at now, of at most 500 accounts,
// ordered by the first expiry of the account.
func (r *Reader) ExpiredHolds(ctx context.Context, now time.Time) ([]ExpiredHold, error) {
	rows, err := r.pool.Query(ctx,
		"select id, doc from credit_balances where next_expiry <= $1 order by next_expiry, id limit $2", now, sweepLimit)
	if err != nil {
		return nil, err
	}
	var expired []ExpiredHold
	var id string
	var doc []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &doc}, func() error {
		var s credit.State
		if err := json.Unmarshal(doc, &s); err != nil {
			return err
		}
		for h := range s.Holds.All() {
			if !now.Before(h.ExpiresAt) {
				expired = append(expired, ExpiredHold{AccountID: id, OpenHold: h})
			}
		}
		return nil
	})
	return expired, err
}
