package projections_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/projections"
)

func TestOldCertificatesAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	insert := func(age string, tables ...string) (id int64) {
		proofs := make([]map[string]string, len(tables))
		for i, table := range tables {
			proofs[i] = map[string]string{"table": table}
		}
		require.NoError(t, w.pool.QueryRow(t.Context(), `insert into rebuild_certificates (at, position, equal, accepted, doc)
			values (clock_timestamp() - $1::interval, 1, true, false, json_build_object('tables', $2::json)) returning id`,
			age, proofs).Scan(&id))
		return id
	}
	insert("800 days", "videos")
	insert("700 days", "videos", "accounts")
	lastOfAnalyses := insert("600 days", "analyses", "videos")
	insert("500 days", "videos")
	lastOfAccounts := insert("400 days", "accounts")
	recent, last := insert("300 days", "videos"), insert("1 day", "videos")
	for _, want := range []int64{2, 1, 0} {
		n, err := projections.DeleteOldCertificates(t.Context(), w.pool, 2)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	rows, err := w.pool.Query(t.Context(), "select id from rebuild_certificates order by id")
	require.NoError(t, err)
	left, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	require.Equal(t, []int64{lastOfAnalyses, lastOfAccounts, recent, last}, left)
}
