package resources

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/domain/queue"
)

// Turns reads the turns that accounts have had in the queue of analyses. The jobs record them.
func Turns(ctx context.Context, db interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
},
) (queue.Turns, error) {
	turns := queue.Turns{Until: map[string]float64{}}
	rows, err := db.Query(ctx, "select account_id, started_s, until_s from account_turns")
	if err != nil {
		return turns, fmt.Errorf("read the turns of accounts: %w", err)
	}
	var id string
	var started, until float64
	_, err = pgx.ForEachRow(rows, []any{&id, &started, &until}, func() error {
		turns.Now, turns.Until[id] = max(turns.Now, started), until
		return nil
	})
	if err != nil {
		return turns, fmt.Errorf("read the turns of accounts: %w", err)
	}
	return turns, nil
}

// RecordTurns records that analyses start, in this order. It changes turns, which Turns read in the
// same transaction.
func RecordTurns(ctx context.Context, tx pgx.Tx, turns *queue.Turns, started []queue.Place) error {
	for _, p := range started {
		if p.Background {
			continue
		}
		turns.Start(p)
		_, err := tx.Exec(ctx, `
			insert into account_turns (account_id, started_s, until_s) values ($1, $2, $3)
			on conflict (account_id) do update set started_s = excluded.started_s, until_s = excluded.until_s`,
			p.AccountID, p.Tag, turns.Until[p.AccountID])
		if err != nil {
			return fmt.Errorf("record the turn of an account: %w", err)
		}
	}
	// An account whose next tag is not above the current one counts as if it had no row.
	if _, err := tx.Exec(ctx, "delete from account_turns where until_s <= $1", turns.Now); err != nil {
		return fmt.Errorf("delete the turns that have passed: %w", err)
	}
	return nil
}

// ForgetTurns deletes the turns when no analysis waits or runs.
func ForgetTurns(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `
		delete from account_turns where not exists (
			select from analyses where status in ('queued', 'preparing', 'analyzing', 'rendering') and livemode)`)
	if err != nil {
		return fmt.Errorf("forget the turns of accounts: %w", err)
	}
	return nil
}
