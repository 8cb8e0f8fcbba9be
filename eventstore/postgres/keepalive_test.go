package postgres_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/postgres"
)

func TestConnectionsNoticeAVanishedPeer(t *testing.T) {
	t.Parallel()
	pool, address := connect(t)
	settings := func(p *pgxpool.Pool) map[string]string {
		got := map[string]string{}
		for _, name := range []string{
			"tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout", "client_connection_check_interval",
		} {
			var value string
			require.NoError(t, p.QueryRow(t.Context(), "show "+name).Scan(&value))
			got[name] = value
		}
		return got
	}
	want := map[string]string{
		"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
		"tcp_user_timeout": "20000", "client_connection_check_interval": "5s",
	}
	require.Equal(t, want, settings(pool))

	u, err := url.Parse(address)
	require.NoError(t, err)
	q := u.Query()
	q.Set("tcp_keepalives_idle", "7")
	u.RawQuery = q.Encode()
	other, err := postgres.Connect(t.Context(), u.String())
	require.NoError(t, err)
	t.Cleanup(other.Close)
	want["tcp_keepalives_idle"] = "7"
	require.Equal(t, want, settings(other), "the URL overrides the defaults")
}
