package ledger

import (
	"context"

	"github.com/jackc/pgx/v5"

	"vqa/domain/credit"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// checkpoints has the newest checkpoint of each account.
var checkpoints = projections.Model[credit.CheckpointState, credit.Sealed]{
	Name: "ledger_checkpoints", Of: fold.Checkpoint, Revision: 1, AccountColumn: "id",
	Columns: []projections.Column{{Name: "number", Type: "bigint"}, {Name: "version", Type: "bigint"}},
	States: func(id string, s credit.CheckpointState) []projections.Row {
		c := s.Last.Checkpoint
		return []projections.Row{{ID: id, Values: []any{c.Number, c.Version}, Doc: s.Last}}
	},
}

// Unsealed returns accounts with ledger events since their last checkpoint, ordered by
// stream, starting after the given account, at most limit of them. It reads the heads of
// the streams.
func (r *Reader) Unsealed(ctx context.Context, after string, limit int) ([]string, error) {
	prefix := fold.Credit.Stream("").String()
	rows, err := r.pool.Query(ctx, `
		select substr(s.stream, length($1) + 1)
		from streams s left join ledger_checkpoints c on c.id = substr(s.stream, length($1) + 1)
		where s.stream like 'credit/%' and s.stream > $1 || $2 and s.version > coalesce(c.version, 0)
		order by s.stream limit $3`, prefix, after, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
