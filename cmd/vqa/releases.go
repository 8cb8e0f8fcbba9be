package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/codec"
	"vqa/projections"
)

// refreshEvery is how often a node looks for read models that it may rebuild now.
const refreshEvery = 5 * time.Second

// refresh rebuilds the read models that do not fit this release, unless nodes of an earlier release are
// alive. Then it leaves them to refreshDue.
func (a *app) refresh(ctx context.Context) error {
	return a.rebuilding(ctx, func(r *projections.Rebuilder) error {
		begun := time.Now()
		done, err := r.Refresh(ctx)
		if err != nil {
			return fmt.Errorf("rebuilding the read models: %w", err)
		}
		if len(done.Rebuilt) > 0 {
			a.log.InfoContext(ctx, "rebuilt read models", "tables", done.Rebuilt, "took", time.Since(begun))
		}
		if len(done.Waiting) > 0 {
			a.log.InfoContext(ctx, "read models are rebuilt when the nodes of earlier releases have stopped",
				"tables", done.Waiting, "older_nodes", done.OlderNodes)
		}
		return nil
	})
}

// refreshDue rebuilds the read models that had to wait for nodes of an earlier release.
func (s *server) refreshDue(ctx context.Context) {
	due, err := newRebuilder(s.pool).Due(ctx)
	if err == nil && len(due.Rebuilt) > 0 {
		err = s.refresh(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("could not rebuild the read models of this release; trying again", "error", err)
	}
}

// undefinedColumn is the code of Postgres for a column that no migration has created yet.
const undefinedColumn = "42703"

// livingNode is a row of vqa nodes list.
type livingNode struct {
	Name string `json:"name"`
	// Host is the name of the machine. It is empty for a node of a release that does not record it.
	Host       string    `json:"host"`
	Generation int64     `json:"generation"`
	StartedAt  time.Time `json:"started_at"`
	RenewedAt  time.Time `json:"renewed_at"`
}

// querier is a connection or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func livingNodes(ctx context.Context, db querier) ([]livingNode, error) {
	rows, err := db.Query(ctx, `select n.name, n.host, n.generation, n.started_at, n.renewed_at
		from living_nodes l join nodes n using (name) order by n.started_at, n.name`)
	if err != nil {
		return nil, fmt.Errorf("list the living nodes: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (livingNode, error) {
		var n livingNode
		err := row.Scan(&n.Name, &n.Host, &n.Generation, &n.StartedAt, &n.RenewedAt)
		n.StartedAt, n.RenewedAt = n.StartedAt.UTC(), n.RenewedAt.UTC()
		return n, err
	})
}

// mixedFor is how long nodes of two releases may run on one database before the doctor warns.
const mixedFor = time.Hour

// inspectReleases returns a finding when events are of unknown types, and when nodes of several releases
// have run for long.
func inspectReleases(ctx context.Context, url string) (found []doctor.Finding, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing was written
	rows, err := conn.Query(ctx, `select format('%s (%s in %s streams)', left(type, 60), count(*), count(distinct stream))
		from events where type <> all($1) group by type order by min(position) limit 10`, codec.Events().Readable())
	if err != nil {
		return nil, err
	}
	unknown, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	for i, text := range unknown {
		unknown[i] = terminal.Printable(text)
	}
	if len(unknown) > 0 {
		found = append(found, doctor.Finding{
			Verdict: doctor.Warning, Detail: "this program does not know these events: " + strings.Join(unknown, ", "),
			Fix: "use the newest release; when no release knows them, find the program that wrote them: vqa events list --type TYPE",
		})
	}
	nodes, err := livingNodes(ctx, conn)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && (refused.Code == undefinedTable || refused.Code == undefinedColumn) {
		return found, nil // the next start migrates
	}
	if err != nil {
		return nil, err
	}
	var now time.Time // the nodes wrote their start by the clock of the database, too
	if err := conn.QueryRow(ctx, "select clock_timestamp()").Scan(&now); err != nil {
		return nil, err
	}
	if mixed := mixedReleases(nodes, now); mixed != "" {
		found = append(found, doctor.Finding{Verdict: doctor.Warning, Detail: mixed, Fix: "finish the rolling upgrade: vqa nodes list"})
	}
	return found, nil
}

// mixedReleases describes nodes of several releases that have run together for longer than mixedFor.
func mixedReleases(nodes []livingNode, now time.Time) string {
	counts := map[int64]int{}
	var newest livingNode // the first node of the newest generation
	for _, n := range nodes {
		if counts[n.Generation]++; n.Generation > newest.Generation {
			newest = n
		}
	}
	if len(counts) < 2 || now.Sub(newest.StartedAt) < mixedFor {
		return ""
	}
	var texts []string
	for generation, n := range counts {
		texts = append(texts, strconv.Itoa(n)+" of generation "+strconv.FormatInt(generation, 10))
	}
	slices.Sort(texts)
	return "nodes of several releases have run since " + newest.StartedAt.Format(time.RFC3339) + ": " + strings.Join(texts, ", ")
}
