package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

const snapshotsSQL = `
select s.stream, s.snapshot_version, s.snapshot::text, s.snapshot_chain, s.snapshot_mac, coalesce(e.account_id, ''), coalesce(e.position, 0)
  from streams s left join events e on e.stream = s.stream and e.version = s.snapshot_version
 where s.stream > $1 and s.snapshot is not null order by s.stream limit $2`

// snapshots checks that the service wrote each snapshot. The proof of the read models compares them with
// their events (projections.Rebuilder).
func (r *run) snapshots(ctx context.Context, facts *LogFacts) error {
	if r.macs == nil {
		return nil
	}
	for last := ""; ; {
		rows, err := r.planner.Query(ctx, snapshotsSQL, last, r.page)
		if err != nil {
			return fmt.Errorf("read the snapshots: %w", err)
		}
		read := 0
		m := Mismatch{Kind: Forged}
		var state, chain, mac []byte
		_, err = pgx.ForEachRow(rows, []any{&m.Stream, &m.Version, &state, &chain, &mac, &m.AccountID, &m.Position}, func() error {
			read, last = read+1, m.Stream
			id, err := codec.ParseStreamID(m.Stream)
			if err != nil {
				return err
			}
			var forged *eventstore.ForgedError
			if errors.As(r.macs.CheckSnapshot(id, m.Version, chain, state, mac), &forged) {
				m.Detail = "the service did not write the snapshot: " + forged.Problem
				r.readers[0].report.add(m)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the snapshots: %w", err)
		}
		facts.Snapshots += int64(read)
		if read < r.page {
			return nil
		}
	}
}

// sameMeaning reports whether two JSON documents are equal, where an absent member, null and an empty
// value are the same.
func sameMeaning(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(withoutEmpty(x), withoutEmpty(y))
}

func withoutEmpty(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			if value = withoutEmpty(value); value == nil {
				delete(x, name)
			} else {
				x[name] = value
			}
		}
		if len(x) == 0 {
			return nil
		}
	case []any:
		for i := range x {
			x[i] = withoutEmpty(x[i])
		}
		if len(x) == 0 {
			return nil
		}
	}
	return v
}
