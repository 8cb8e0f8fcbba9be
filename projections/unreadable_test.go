package projections_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/migrations"
	"vqa/projections"
)

// older makes a rebuilder one of an earlier release, which does not know an event.
func older(r *projections.Rebuilder, unknown string) *projections.Rebuilder {
	decode := r.Decode
	r.Decode = func(stored string, data []byte) (eventstore.Event, error) {
		if stored == unknown {
			return nil, &codec.UnknownTypeError{Type: stored}
		}
		return decode(stored, data)
	}
	r.Generation--
	return r
}

// TestUnreadableStreamsAreLeftOut: a program that does not know an event verifies all other rows, and
// names the streams that it cannot judge. It replaces no table with one that lacks their rows.
func TestUnreadableStreamsAreLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	with, without := w.caller(ctx, t, 100), w.caller(ctx, t, 100)
	deleted := w.readyVideo(ctx, t, with)
	kept := w.readyVideo(ctx, t, without)
	err := w.DeleteVideo(ctx, with, deleted)
	require.NoError(t, err)
	before := w.dump(ctx, t)

	c, err := older(w.rebuilder(), "video.deleted").Verify(ctx)
	require.NoError(t, err)
	require.True(t, c.Equal, "%+v", c)
	require.Equal(t, []projections.Unreadable{{Stream: "video/" + deleted, Type: "video.deleted"}}, c.Unreadable)
	require.EqualValues(t, 1, c.UnreadableStreams)
	for _, p := range c.Tables {
		left := int64(0)
		if p.Table == "videos" {
			left = 1
		}
		require.Equal(t, left, p.AccountsLeft, p.Table)
	}

	// A row of another account is still compared.
	_, err = w.owner.Exec(ctx, "update videos set status = 'failed' where id = $1", kept)
	require.NoError(t, err)
	c, err = older(w.rebuilder(), "video.deleted").Verify(ctx)
	require.NoError(t, err)
	require.False(t, c.Equal)
	_, err = w.owner.Exec(ctx, "update videos set status = 'ready' where id = $1", kept)
	require.NoError(t, err)

	_, err = older(w.rebuilder(), "video.deleted").Rebuild(ctx, true)
	require.ErrorContains(t, err, "cannot read some events of 1 streams, such as video.deleted in video/"+deleted)
	require.Equal(t, before, w.dump(ctx, t))

	// A rebuild at the start keeps the rows that it cannot make.
	_, err = w.owner.Exec(ctx, "update read_models set shape = 'another', generation = 0")
	require.NoError(t, err)
	done, err := older(w.rebuilder(), "video.deleted").Refresh(ctx)
	require.NoError(t, err)
	require.Contains(t, done.Rebuilt, "videos")
	require.Equal(t, before, w.dump(ctx, t))
	w.rebuild(ctx, t)
}

// TestALongUnreadableStream has an unreadable stream that fills several pieces of a fold.
func TestALongUnreadableStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := w.caller(ctx, t, 100)
	id := w.readyVideo(ctx, t, c)
	_, err := w.owner.Exec(ctx, `
		insert into events (stream, version, type, account_id, data, meta, chain)
		select e.stream, 2 + n, 'video.future', e.account_id, '{}', e.meta, e.chain
		  from events e, generate_series(1, 45000) n where e.stream = 'video/' || $1 and e.version = 2`, id)
	require.NoError(t, err)
	proof, err := w.rebuilder().Verify(ctx)
	require.NoError(t, err)
	require.True(t, proof.Equal)
	require.Equal(t, []projections.Unreadable{{Stream: "video/" + id, Type: "video.future"}}, proof.Unreadable)
}

// TestAMalformedEventLeavesOutItsStream: a foreign payload under a known type does not keep the other
// streams from being verified.
func TestAMalformedEventLeavesOutItsStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.readyVideo(ctx, t, w.caller(ctx, t, 100))
	_, err := w.owner.Exec(ctx, `
		insert into events (stream, version, type, account_id, data, meta, chain)
		values ('video/video_odd', 1, 'video.deleted', '', '{"at":5}', '{}', sha256(''))`)
	require.NoError(t, err)
	proof, err := w.rebuilder().Verify(ctx)
	require.NoError(t, err)
	require.True(t, proof.Equal, "%+v", proof)
	require.Equal(t, []projections.Unreadable{{Stream: "video/video_odd", Type: "video.deleted"}}, proof.Unreadable)
	_, err = w.rebuilder().Rebuild(ctx, true)
	require.ErrorContains(t, err, "cannot read some events of 1 streams")
}

// joins adds a living node of a generation, which leave removes from the living ones.
func (w *world) joins(ctx context.Context, t *testing.T, name string, generation int64) (leave func()) {
	t.Helper()
	_, err := w.owner.Exec(ctx, `insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until, generation)
		values ($1, $1, 1, clock_timestamp(), clock_timestamp(), clock_timestamp() + interval '1 hour', $2)`, name, generation)
	require.NoError(t, err)
	return func() {
		_, err := w.owner.Exec(ctx, "update nodes set renewed_at = clock_timestamp(), lease_until = clock_timestamp() where name = $1", name)
		require.NoError(t, err)
	}
}

// withShape returns the models with another revision of the table videos.
func withShape(t *testing.T, revision int) []projections.Projection {
	t.Helper()
	all := models()
	for i, m := range all {
		if v, ok := m.(projections.Model[video.State, video.Event]); ok {
			v.Revision = revision
			v.Columns = append([]projections.Column(nil), v.Columns...)
			states := v.States
			v.States = func(id string, s video.State) []projections.Row {
				rows := states(id, s)
				for i := range rows {
					rows[i].Doc = map[string]any{"revision": revision, "id": id}
				}
				return rows
			}
			all[i] = v
			require.Equal(t, fold.Video.Category(), v.Category().Category())
		}
	}
	return all
}

// TestRefreshInARollingUpgrade: a new release leaves a table in its old shape while nodes of the earlier
// release write to it, and rebuilds it when they have stopped, also when one of them came back. The
// earlier release leaves a table of the newer shape alone.
func TestRefreshInARollingUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, err := w.rebuilder().Refresh(ctx)
	require.NoError(t, err)
	id := w.readyVideo(ctx, t, w.caller(ctx, t, 100))
	newer := func() *projections.Rebuilder {
		r := w.rebuilder()
		r.Generation, r.Projections = migrations.Generation()+1, withShape(t, 99)
		return r
	}
	newRow := func() bool {
		var doc string
		require.NoError(t, w.owner.QueryRow(ctx, "select doc::text from videos where id = $1", id).Scan(&doc))
		return strings.Contains(doc, `"revision":99`)
	}
	leave := w.joins(ctx, t, "old", migrations.Generation())
	waits, err := newer().Refresh(ctx)
	require.NoError(t, err)
	require.Equal(t, projections.Refreshed{Waiting: []string{"videos"}, OlderNodes: 1}, waits)
	require.False(t, newRow())

	leave()
	w.joins(ctx, t, "new", migrations.Generation()+1)
	done, err := newer().Refresh(ctx)
	require.NoError(t, err)
	require.Equal(t, projections.Refreshed{Rebuilt: []string{"videos"}}, done)
	require.True(t, newRow())
	done, err = newer().Refresh(ctx)
	require.NoError(t, err)
	require.Empty(t, done)

	// The old release starts again, and writes a row.
	done, err = w.rebuilder().Refresh(ctx)
	require.NoError(t, err)
	require.Empty(t, done, "it leaves the newer table alone")
	require.True(t, newRow())
	list, err := w.rebuilder().List(ctx)
	require.NoError(t, err)
	for _, l := range list {
		require.Equal(t, l.Table == "videos", l.Newer, l.Table)
	}
	leave = w.joins(ctx, t, "again", migrations.Generation())
	_, err = w.owner.Exec(ctx, "update videos set doc = '{}' where id = $1", id)
	require.NoError(t, err)
	waits, err = newer().Refresh(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, waits.OlderNodes)
	leave()
	require.Eventually(t, func() bool {
		_, err = newer().Refresh(ctx)
		return err == nil && newRow()
	}, time.Minute, 10*time.Millisecond)
}
