package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// connect returns the service's pool on a new database, and the URL of the database's owner.
func connect(t testing.TB) (pool *pgxpool.Pool, owner string) {
	t.Helper()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool, url
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		pool, _ := connect(t)
		return postgres.New(pool, storetest.Codec())
	})
}
