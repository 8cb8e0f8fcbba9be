package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/domain/incident"
	"vqa/eventstore/fold"
	"vqa/projections"
)

// incidents belong to the platform and have no account.
var incidents = projections.Model[incident.State, incident.Event]{
	Name: "incidents", Of: fold.Incident, Revision: 1, AccountColumn: "id",
	Columns: []projections.Column{{Name: "opened_at", Type: "timestamptz"}, {Name: "closed_at", Type: "timestamptz"}},
	States: func(id string, s incident.State) []projections.Row {
		return []projections.Row{{ID: id, Values: []any{&s.OpenedAt, s.ClosedAt}, Doc: s}}
	},
}

// OpenIncident returns the id of the oldest open incident, or "".
func (r *Reader) OpenIncident(ctx context.Context) (string, error) {
	var id string
	err := r.pool.QueryRow(ctx, "select id from incidents where closed_at is null order by opened_at, id limit 1").Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read open incidents: %w", err)
	}
	return id, nil
}

// Incidents lists at most limit incidents, newest first. When open is true, it lists open
// incidents only.
func (r *Reader) Incidents(ctx context.Context, open bool, limit int) ([]incident.State, error) {
	rows, err := r.pool.Query(ctx,
		"select doc from incidents where not $1 or closed_at is null order by opened_at desc, id desc limit $2", open, limit)
	return documents[incident.State](rows, err)
}
