package main

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/migrations"
)

func TestMixedReleases(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	old := livingNode{Name: "old", Generation: 20, StartedAt: now.Add(-90 * time.Minute)}
	fresh := livingNode{Name: "fresh", Generation: 21, StartedAt: now.Add(-59 * time.Minute)}
	require.Empty(t, mixedReleases(nil, now))
	require.Empty(t, mixedReleases([]livingNode{old, old}, now))
	require.Empty(t, mixedReleases([]livingNode{old, fresh}, now), "an upgrade takes its time")
	require.Equal(t, "nodes of several releases have run since 2026-11-22T11:01:00Z: 1 of generation 21, 2 of generation 20",
		mixedReleases([]livingNode{old, fresh, old}, now.Add(time.Minute)))
}

// TestTheDoctorNamesUnknownEvents: a foreign or misspelled type in the log is noticed.
func TestTheDoctorNamesUnknownEvents(t *testing.T) {
	t.Parallel()
	c := toolConfig(t)
	a, err := openApp(t.Context(), c, slog.New(slog.DiscardHandler), adapters{})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	owner, err := pgx.Connect(t.Context(), c.DatabaseURL)
	require.NoError(t, err)
	defer func() { _ = owner.Close(t.Context()) }()
	found, err := inspectReleases(t.Context(), c.DatabaseURL)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = owner.Exec(t.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
		select 'video/' || s, v, 'video.raedy', '', '{}', '{}', sha256('') from generate_series(1, 2) s, generate_series(1, 2) v`)
	require.NoError(t, err)
	_, err = owner.Exec(t.Context(), `insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until, generation)
		select 'n' || g, 'h', 1, clock_timestamp() - interval '2 hours', clock_timestamp(), clock_timestamp() + interval '1 minute', g
		  from unnest($1::bigint[]) g`, []int64{migrations.Generation() - 1, migrations.Generation()})
	require.NoError(t, err)
	_, err = owner.Exec(t.Context(), `insert into events (stream, version, type, account_id, data, meta, chain)
		values ('video/3', 1, repeat('x', 2000), '', '{}', '{}', sha256('')), ('video/4', 1, E'odd\ntype', '', '{}', '{}', sha256(''))`)
	require.NoError(t, err)
	found, err = inspectReleases(t.Context(), c.DatabaseURL)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Less(t, len(found[0].Detail), 300)
	require.NotContains(t, found[0].Detail, "\n")
	require.Equal(t, doctor.Warning, found[0].Verdict)
	require.Contains(t, found[0].Detail, "video.raedy (4 in 2 streams)")
	require.Contains(t, found[1].Detail, "nodes of several releases")

	_, err = owner.Exec(t.Context(), "alter table nodes drop column generation cascade")
	require.NoError(t, err)
	found, err = inspectReleases(t.Context(), c.DatabaseURL)
	require.NoError(t, err, "before the migration")
	require.Len(t, found, 1)
}
