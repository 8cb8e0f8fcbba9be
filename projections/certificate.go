package projections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Certificate is the proof that a run produced.
type Certificate struct {
	// ID is the row of the certificate in its table, > 0.
	ID int64 `json:"id"`
	// Position is the position of the log at which all rows were compared.
	Position int64 `json:"position"`
	// SwapPosition is the position of the log at the swap, or 0 without a swap. The rows of
	// events between the two positions were compared one by one.
	SwapPosition int64     `json:"swap_position,omitempty"`
	At           time.Time `json:"at"`
	// Equal is true when every live row equals the row rebuilt from the log, and no snapshot differs.
	Equal bool `json:"equal"`
	// Accepted is true when tables were swapped although they differed.
	Accepted bool `json:"accepted"`
	Swapped  bool `json:"swapped"`
	// UnreadableStreams counts the streams with events that the program cannot read. Unreadable has
	// the first of them, at most 20. The tables of their categories were not compared for their
	// accounts.
	UnreadableStreams int64        `json:"unreadable_streams,omitempty"`
	Unreadable        []Unreadable `json:"unreadable,omitempty"`
	Tables            []TableProof `json:"tables"`
	// Snapshots is nil when the run did not compare the snapshots.
	Snapshots *Snapshots `json:"snapshots,omitempty"`
	// Events is the number of events folded.
	Events          int64   `json:"events"`
	DurationSeconds float64 `json:"duration_seconds"`
	EventsPerSecond float64 `json:"events_per_second"`
	// HeldSeconds is the longest time for which the swap blocked writers and readers.
	HeldSeconds float64 `json:"held_seconds,omitempty"`
}

// TableProof compares a live table with the table rebuilt from the log.
type TableProof struct {
	Table string `json:"table"`
	// Rows and LiveRows are the numbers of rebuilt and live rows.
	Rows     int64 `json:"rows"`
	LiveRows int64 `json:"live_rows"`
	// DigestRebuilt and DigestLive are digests of all rows, 128 bits in hexadecimal. They
	// do not depend on the order of the rows.
	DigestRebuilt string `json:"digest_rebuilt"`
	DigestLive    string `json:"digest_live"`
	// Accounts is the number of accounts with rows. AccountsDiffering is the number of
	// accounts whose digests differ.
	Accounts          int64 `json:"accounts"`
	AccountsDiffering int64 `json:"accounts_differing"`
	// AccountsLeft is the number of accounts that were not compared, because of unreadable streams.
	AccountsLeft int64 `json:"accounts_left,omitempty"`
	// Missing rows are only in the rebuilt table, Surplus rows only in the live one.
	// Changed rows are in both and differ.
	Missing int64 `json:"missing"`
	Surplus int64 `json:"surplus"`
	Changed int64 `json:"changed"`
	// Examples are some of the differing rows, at most ten.
	Examples []RowDifference `json:"examples,omitempty"`
}

// Equal reports whether the live table equals the rebuilt one, row for row.
func (p TableProof) Equal() bool {
	return p.Missing == 0 && p.Surplus == 0 && p.Changed == 0 && p.AccountsDiffering == 0 && p.DigestLive == p.DigestRebuilt
}

// RowDifference describes how one live row differs from the rebuilt one.
type RowDifference struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	// Kind is missing, surplus or changed.
	Kind string `json:"kind"`
	// Fields are the columns and the fields of the document that differ in a changed row.
	Fields []FieldDifference `json:"fields,omitempty"`
}

// FieldDifference is one value of a changed row. A missing value is null.
type FieldDifference struct {
	Name string          `json:"name"`
	Live json.RawMessage `json:"live"`
	Log  json.RawMessage `json:"log"`
}

// table returns the proof of a table.
func (c *Certificate) table(name string) *TableProof {
	for i := range c.Tables {
		if c.Tables[i].Table == name {
			return &c.Tables[i]
		}
	}
	panic("no proof of " + name) // compareAll made one for each model of the run
}

// store completes and records the certificate of a run that folded the given number of
// events.
func (w *work) store(ctx context.Context, in executor, c *Certificate, events int64) error {
	c.Accepted = c.Swapped && !c.Equal
	c.Events = events
	c.DurationSeconds = time.Since(w.started).Seconds()
	c.EventsPerSecond = float64(c.Events) / max(c.DurationSeconds, 1e-6)
	doc, err := json.Marshal(c)
	if err != nil {
		return err
	}
	err = in.QueryRow(ctx, `
		insert into public.rebuild_certificates (position, equal, accepted, doc)
		values ($1, $2, $3, $4) returning id, at`, c.Position, c.Equal, c.Accepted, string(doc)).Scan(&c.ID, &c.At)
	c.At = c.At.UTC()
	return err
}

// build says how and when a read model was last built.
type build struct {
	Shape string
	At    time.Time
	// Generation is the first generation of the program that writes rows of this shape.
	Generation int64
	// Mixed is true when a node of an earlier generation was alive after the build. It may have
	// written rows of the shape before.
	Mixed bool
}

// builds returns how and when each read model was last built.
func (r *Rebuilder) builds(ctx context.Context) (map[string]build, error) {
	rows, err := r.Owner.Query(ctx, `
		select m.name, m.shape, m.rebuilt_at, m.generation,
		       exists (select from public.nodes n where n.generation < m.generation and n.lease_until > m.rebuilt_at)
		  from public.read_models m`)
	if err != nil {
		return nil, err
	}
	builds := map[string]build{}
	var name string
	var m build
	_, err = pgx.ForEachRow(rows, []any{&name, &m.Shape, &m.At, &m.Generation, &m.Mixed}, func() error {
		builds[name] = m
		return nil
	})
	return builds, err
}

// executor is a connection or a transaction.
type executor interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// recordShapes records that read models now have the shapes of this program.
func (r *Rebuilder) recordShapes(ctx context.Context, in executor, names []string) error {
	models, err := r.named(names)
	if err != nil {
		return err
	}
	trip := &pgx.Batch{}
	for _, m := range models {
		trip.Queue(`insert into public.read_models (name, shape, generation) values ($1, $2, $3)
			on conflict (name) do update set shape = excluded.shape, rebuilt_at = clock_timestamp(),
			generation = case when read_models.shape = excluded.shape then read_models.generation else excluded.generation end`,
			m.Table(), m.Shape(), r.Generation)
	}
	return in.SendBatch(ctx, trip).Close()
}

// Listed is a read model as it is in the database.
type Listed struct {
	Table string `json:"table"`
	// Category is the category of the streams that the rows are made from.
	Category string `json:"category"`
	Rows     int64  `json:"rows"`
	// Shape is the shape that this program expects. Current is true when the table was
	// built in it. Newer is true when a newer release built the table in another one.
	Shape     string    `json:"shape"`
	Current   bool      `json:"current"`
	Newer     bool      `json:"newer,omitempty"`
	RebuiltAt time.Time `json:"rebuilt_at"`
	// Certificate is the last certificate of this table, without its other tables.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// List returns all read models.
func (r *Rebuilder) List(ctx context.Context) ([]Listed, error) {
	made, err := r.builds(ctx)
	if err != nil {
		return nil, err
	}
	var list []Listed
	for _, p := range r.Projections {
		m := made[p.Table()]
		l := Listed{
			Table: p.Table(), Category: p.Category().Category(), Shape: p.Shape(),
			Current: m.Shape == p.Shape(), Newer: r.newer(m, p), RebuiltAt: m.At.UTC(),
		}
		if err := r.Owner.QueryRow(ctx, "select count(*) from public."+p.Table()).Scan(&l.Rows); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Table(), err)
		}
		if l.Certificate, err = r.lastCertificate(ctx, p.Table()); err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// lastCertificate returns the last certificate of a table, or nil.
func (r *Rebuilder) lastCertificate(ctx context.Context, table string) (*Certificate, error) {
	var c Certificate
	var doc []byte
	var id int64
	var at time.Time
	err := r.Owner.QueryRow(ctx, `
		select id, at, doc from public.rebuild_certificates
		 where exists (select from json_array_elements(doc->'tables') as t where t->>'table' = $1)
		 order by id desc limit 1`, table).Scan(&id, &at, &doc)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(doc, &c); err != nil {
		return nil, err
	}
	c.ID, c.At = id, at.UTC()
	c.Tables = []TableProof{*c.table(table)}
	return &c, nil
}

// CertificateWindow is the time for which a certificate is kept. The last one of each table stays.
const CertificateWindow = 365 * 24 * time.Hour

// DeleteOldCertificates deletes up to limit certificates that are older than the window and not the last
// one of a table. It returns how many it deleted.
func DeleteOldCertificates(ctx context.Context, pool *pgxpool.Pool, limit int) (int64, error) {
	done, err := pool.Exec(ctx, `
		with proven as (
			select c.id, t->>'table' as name from public.rebuild_certificates c, json_array_elements(c.doc->'tables') as t
		)
		delete from public.rebuild_certificates where id in (
			select c.id from public.rebuild_certificates c
			 where c.at < clock_timestamp() - make_interval(secs => $1)
			   and c.id not in (select max(id) from proven group by name)
			 order by c.id limit $2)`, CertificateWindow.Seconds(), limit)
	if err != nil {
		return 0, fmt.Errorf("delete old certificates: %w", err)
	}
	return done.RowsAffected(), nil
}
