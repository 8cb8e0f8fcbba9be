package projections

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// rowsOf selects the rows of a table in which a column has one of some values. The zero
// value selects all rows.
type rowsOf struct {
	column string
	values []string
}

// maxExamples and maxFields limit how much of a difference is reported.
const (
	maxExamples = 10
	maxFields   = 12
)

// differing returns the number of rows that differ.
func (p *TableProof) differing() int64 { return p.Missing + p.Surplus + p.Changed }

// pairs joins rows of the shadow table with those of the live one and selects the pairs
// that differ.
func pairs(m Projection, within rowsOf) (from string, args []any) {
	where := ""
	if within.column != "" {
		where, args = " where "+within.column+" = any($1)", []any{within.values}
	}
	return fmt.Sprintf(`from (select * from %[1]s.%[2]s%[3]s) as fresh full join (select * from public.%[2]s%[3]s) as live using (id)
		where fresh.id is null or live.id is null or fresh::text <> live::text`, shadow, m.Table(), where), args
}

// differences adds the differences between selected rows of the two tables, as tx sees
// them.
func (p *TableProof) differences(ctx context.Context, tx pgx.Tx, m Projection, within rowsOf) error {
	from, args := pairs(m, within)
	var found TableProof
	err := tx.QueryRow(ctx, `
		select count(*) filter (where live.id is null), count(*) filter (where fresh.id is null),
		       count(*) filter (where fresh.id = live.id) `+from, args...).Scan(&found.Missing, &found.Surplus, &found.Changed)
	if err != nil || found.differing() == 0 {
		return err
	}
	p.Missing, p.Surplus, p.Changed = p.Missing+found.Missing, p.Surplus+found.Surplus, p.Changed+found.Changed
	rows, err := tx.Query(ctx, fmt.Sprintf(`
		select id, coalesce(fresh.%[1]s, live.%[1]s), case when fresh.id is not null then row_to_json(fresh) end,
		       case when live.id is not null then row_to_json(live) end %[2]s order by id limit %[3]d`,
		m.Account(), from, maxExamples-len(p.Examples)), args...)
	if err != nil {
		return err
	}
	examples, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d RowDifference, err error) {
		var fresh, live []byte
		if err := row.Scan(&d.ID, &d.Account, &fresh, &live); err != nil {
			return d, err
		}
		switch {
		case live == nil:
			d.Kind = "missing"
		case fresh == nil:
			d.Kind = "surplus"
		default:
			d.Kind = "changed"
			d.Fields, err = fieldDifferences(live, fresh)
		}
		return d, err
	})
	p.Examples = append(p.Examples, examples...)
	return err
}

// fieldDifferences compares two rows in JSON, field by field.
func fieldDifferences(live, log []byte) ([]FieldDifference, error) {
	a, b := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := flatten("", live, a); err != nil {
		return nil, err
	}
	if err := flatten("", log, b); err != nil {
		return nil, err
	}
	names := maps.Clone(a)
	maps.Copy(names, b)
	var fields []FieldDifference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !bytes.Equal(a[name], b[name]) && len(fields) < maxFields {
			fields = append(fields, FieldDifference{Name: name, Live: orNull(a[name]), Log: orNull(b[name])})
		}
	}
	if fields == nil {
		// All values are equal, so the texts differ in spaces or in the order of fields.
		whole := func(text []byte) json.RawMessage { quoted, _ := json.Marshal(string(text)); return quoted }
		fields = []FieldDifference{{Name: "(text)", Live: whole(live), Log: whole(log)}}
	}
	return fields, nil
}

func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}

// flatten lists the values of a JSON object and its nested objects by their dotted names.
func flatten(prefix string, object []byte, into map[string]json.RawMessage) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return err
	}
	for name, v := range fields {
		if v = bytes.TrimSpace(v); len(v) > 2 && v[0] == '{' {
			if err := flatten(prefix+name+".", v, into); err != nil {
				return err
			}
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, v); err != nil {
			return err
		}
		into[prefix+name] = compact.Bytes()
	}
	return nil
}
