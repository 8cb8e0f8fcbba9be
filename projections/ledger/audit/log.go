package audit

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// MACs checks that the service wrote a stored row (postgres.Guard). Each method returns a
// *eventstore.ForgedError for a row that it did not write, or that cannot be checked.
type MACs interface {
	CheckEvent(e codec.Encoded, position int64, mac []byte) error
	CheckSnapshot(stream eventstore.StreamID, version int64, chain, state, mac []byte) error
}

// maxListed is the largest number of places in each list of LogFacts.
const maxListed = 20

// LogFacts are facts about the whole log that an auditor must know. Honest operation causes each of
// them, so they do not count as mismatches.
type LogFacts struct {
	// Position is the position of the last event.
	Position int64 `json:"position"`
	// MACsChecked is false when this program has no key for the MACs.
	MACsChecked bool `json:"macs_checked"`
	// Gaps is the number of gaps between positions, and Skipped the number of positions in them. An
	// append that is rolled back leaves a gap. FirstGaps has the first 20.
	Gaps      int64 `json:"gaps"`
	Skipped   int64 `json:"skipped_positions"`
	FirstGaps []Gap `json:"first_gaps"`
	// Drawn is the number of positions after the last event that were drawn for events that do not
	// exist. It is null without the right to see the sequence.
	Drawn *int64 `json:"drawn_after_last"`
	// Backwards is the number of events whose time is before that of an earlier position. Concurrent
	// writers cause it. FirstBackwards has the first 20.
	Backwards      int64      `json:"times_backwards"`
	FirstBackwards []Backward `json:"first_times_backwards"`
	// Snapshots is the number of snapshots whose MAC was checked.
	Snapshots int64 `json:"snapshots"`
	// Rows is the number of rows of read models that were compared, without those of the ledger.
	Rows int64 `json:"read_model_rows"`
	// Stale are the read models that were not compared, because they wait for a rebuild.
	Stale []string `json:"stale_read_models"`
}

// Gap is a range of positions without an event.
type Gap struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

// Backward is an event whose time is before that of an earlier position.
type Backward struct {
	Position int64 `json:"position"`
	// Seconds is the difference.
	Seconds float64 `json:"seconds"`
}

// verifyLog verifies what belongs to no single stream.
func (r *run) verifyLog(ctx context.Context, report *Report) error {
	r.facts = &LogFacts{FirstGaps: []Gap{}, FirstBackwards: []Backward{}, MACsChecked: r.macs != nil, Stale: append([]string{}, r.stale...)}
	for _, reader := range r.readers {
		r.facts.Snapshots += reader.snapshots
	}
	if err := r.positions(ctx, r.facts, report); err != nil {
		return err
	}
	return r.times(ctx, r.facts)
}

const positionsSQL = `
with gaps as (
    select position, position - coalesce(lag(position) over (order by position), 0) - 1 as gap from events
)
select coalesce(max(position), 0), count(*) filter (where gap > 0), coalesce(sum(gap) filter (where gap > 0), 0)::bigint,
       count(*) filter (where gap < 0 or position < 1) from gaps`

const gapsSQL = `
select position - gap, position - 1 from (
    select position, position - coalesce(lag(position) over (order by position), 0) - 1 as gap from events
) as gaps where gap > 0 order by position limit $1`

const drawnSQL = `
select case when has_sequence_privilege('events_position_seq', 'select')
       then (select case when is_called then last_value else 0 end from events_position_seq) end`

// positions lists the gaps, and reports positions that the sequence cannot have given.
func (r *run) positions(ctx context.Context, facts *LogFacts, report *Report) error {
	var wrong int64
	var last *int64
	err := r.planner.QueryRow(ctx, positionsSQL).Scan(&facts.Position, &facts.Gaps, &facts.Skipped, &wrong)
	if err == nil {
		err = r.planner.QueryRow(ctx, drawnSQL).Scan(&last)
	}
	if err == nil {
		facts.FirstGaps, err = collect(ctx, r.planner, gapsSQL, func(row pgx.CollectableRow) (g Gap, err error) {
			return g, row.Scan(&g.First, &g.Last)
		}, maxListed)
	}
	if err != nil {
		return fmt.Errorf("read the positions: %w", err)
	}
	if wrong > 0 {
		report.Add(Position, "", 0, facts.Position, fmt.Sprintf("%d events have a position that another event has, or none", wrong))
	}
	// The sequence is not part of the snapshot, so it may only be later.
	if last != nil && *last < facts.Position {
		report.Add(Position, "", 0, facts.Position, fmt.Sprintf("the last event has a position that was never drawn: the sequence is at %d", *last))
	} else if last != nil {
		drawn := *last - facts.Position
		facts.Drawn = &drawn
	}
	return nil
}

const timesSQL = `
from (select position, recorded_at, max(recorded_at) over (order by position rows between unbounded preceding and 1 preceding) as latest from events) as t
where recorded_at < latest`

// times lists the events whose time is before that of an earlier position.
func (r *run) times(ctx context.Context, facts *LogFacts) error {
	err := r.planner.QueryRow(ctx, "select count(*) "+timesSQL).Scan(&facts.Backwards)
	if err == nil {
		facts.FirstBackwards, err = collect(ctx, r.planner, "select position, extract(epoch from latest - recorded_at)::float8 "+timesSQL+" order by position limit $1",
			func(row pgx.CollectableRow) (b Backward, err error) { return b, row.Scan(&b.Position, &b.Seconds) }, maxListed)
	}
	if err != nil {
		return fmt.Errorf("read the times: %w", err)
	}
	return nil
}

// collect reads the rows of a query with a limit. It returns an empty list and not nil.
func collect[T any](ctx context.Context, tx pgx.Tx, sql string, scan pgx.RowToFunc[T], limit int) ([]T, error) {
	rows, err := tx.Query(ctx, sql, limit)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, scan)
	if found == nil {
		found = []T{}
	}
	return found, err
}
