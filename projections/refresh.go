package projections

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Refreshed is the outcome of a Refresh.
type Refreshed struct {
	// Rebuilt are the read models that were rebuilt.
	Rebuilt []string
	// Waiting are the read models to rebuild when the OlderNodes living nodes of earlier releases have
	// stopped. They would write rows of the old shape into the new tables.
	Waiting    []string
	OlderNodes int
}

// Refresh rebuilds the read models that were built in an older shape than the program's, and those that
// a node of an earlier release may have written to since. It rebuilds nothing while such a node is
// alive. It leaves a table alone that a newer release has built. It waits for a rebuild of another
// process.
//
// Rows of accounts with unreadable streams keep their old shape.
func (r *Rebuilder) Refresh(ctx context.Context) (Refreshed, error) {
	if found, err := r.Due(ctx); err != nil || len(found.Rebuilt) == 0 {
		return found, err
	}
	var done Refreshed
	_, err := r.withLock(ctx, 0, func(conn *pgx.Conn) (_ Certificate, err error) {
		if done, err = r.Due(ctx); err != nil || len(done.Rebuilt) == 0 {
			return Certificate{}, err
		}
		var empty bool
		if err := conn.QueryRow(ctx, "select not exists (select from public.events)").Scan(&empty); err != nil {
			return Certificate{}, err
		}
		if empty {
			return Certificate{}, r.recordShapes(ctx, conn, done.Rebuilt)
		}
		return r.run(ctx, conn, done.Rebuilt, runOptions{swap: true, accept: true, keep: true})
	})
	return done, err
}

// Due returns what Refresh would do. It needs no rights of the owner.
func (r *Rebuilder) Due(ctx context.Context) (Refreshed, error) {
	made, err := r.builds(ctx)
	if err != nil {
		return Refreshed{}, err
	}
	var stale []string
	for _, p := range r.Projections {
		b := made[p.Table()]
		if b.Generation <= r.Generation && (b.Shape != p.Shape() || b.Mixed) {
			stale = append(stale, p.Table())
		}
	}
	if len(stale) == 0 {
		return Refreshed{}, nil
	}
	var older int
	err = r.Owner.QueryRow(ctx, `
		select count(*) from public.living_nodes l join public.nodes n using (name) where n.generation < $1`, r.Generation).Scan(&older)
	if err != nil || older > 0 {
		return Refreshed{Waiting: stale, OlderNodes: older}, err
	}
	return Refreshed{Rebuilt: stale}, nil
}

// newer reports whether a newer release built the table of a projection in another shape.
func (r *Rebuilder) newer(b build, p Projection) bool {
	return b.Generation > r.Generation && b.Shape != p.Shape()
}
