package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgconn"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
	"vqa/projections/ledger/audit"
)

// exitUncompared is the exit status of a verification without a mismatch that could not compare the database with the
// whole log outside it. Rows that agree with each other may be those of an older state.
const exitUncompared exitError = 3

// comparison returns the comparison of the database with the log outside it. The caller calls end afterwards.
func (a *app) comparison(ctx context.Context) (c seal.Comparison, end func() error, err error) {
	tiles, anchors, end, err := a.ledgerPlaces(ctx)
	if err != nil {
		return c, nil, err
	}
	replica, err := postgres.IsReplica(ctx, a.pool)
	if err != nil {
		return c, nil, errors.Join(err, end())
	}
	return seal.Comparison{Events: postgres.New(a.pool, a.codec), Codec: a.codec, Anchors: anchors, Tiles: tiles, Replica: replica}, end, nil
}

// compareLog compares the database with the log outside it, as the audit of the sealer does. found is the first
// difference, or nil. An error is one of the database.
func (a *app) compareLog(ctx context.Context, progress audit.Progress) (t transparency, found *seal.Finding, err error) {
	c, end, err := a.comparison(ctx)
	if err != nil {
		return transparencyOf(seal.Head{}).uncompared(err), nil, ctx.Err()
	}
	h, err := c.Anchors.Head(ctx, seal.Head{})
	t = transparencyOf(h)
	empty := err == nil && h.Opening.Number == 0
	if err == nil {
		err = c.Compare(ctx, h, func(done, all int64, l translog.Leaf) {
			t.Position = l.Position
			progress(done, all)
		})
	}
	err = errors.Join(err, end())
	switch {
	case ctx.Err() != nil:
		return t, nil, ctx.Err()
	case errors.As(err, new(*pgconn.PgError)): // the database cannot be read
		return t, nil, err
	case empty && err != nil: // the seals name checkpoints, but the place may be the wrong one
		return t.uncompared(fmt.Errorf("%w: %w", errNoLog, err)), nil, nil
	case empty:
		return t.uncompared(errNoLog), nil, nil
	case errors.As(err, new(*seal.BehindError)) || err != nil && !errors.As(err, &found):
		return t.uncompared(err), nil, nil
	case found != nil:
		t.Problem = found.Error()
	}
	t.Compared = true
	return t, found, nil
}

var errNoLog = errors.New("there is no transparency log at the place of the checkpoints (VQA_LEDGER_ANCHOR_URL, or else the object store)")

// uncompared says why the database was not compared with the log.
func (t transparency) uncompared(err error) transparency {
	t.Problem = err.Error()
	return t
}

// fixFinding says what to do about a difference between the database and the log outside it.
const fixFinding = "find out who changed the database; after a restore from a backup: vqa ledger restart --reason TEXT"

// inspectLedger compares a database with the log outside it, for vqa doctor.
func (c config) inspectLedger(ctx context.Context, url string) (f doctor.Finding, err error) {
	c.DatabaseURL = url
	var t transparency
	var found *seal.Finding
	a, err := openReader(ctx, c, slog.New(slog.DiscardHandler))
	if err == nil {
		t, found, err = a.compareLog(ctx, func(int64, int64) {})
		err = errors.Join(err, a.Close())
	}
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return doctor.Finding{Verdict: doctor.Warning, Detail: "the comparison of the database with the checkpoints takes too long for this command", Fix: "vqa ledger verify"}, nil
	case errors.As(err, &refused) && refused.Code == undefinedTable:
		return doctor.Finding{Verdict: doctor.OK, Detail: "the first start creates it"}, nil
	case err != nil:
		return f, err
	case found != nil:
		return doctor.Finding{Verdict: doctor.Broken, Detail: found.Error(), Fix: fixFinding}, nil
	case !t.Compared:
		return doctor.Finding{Verdict: doctor.Warning, Detail: "the database was not compared with the checkpoints: " + t.Problem, Fix: "make the place of the checkpoints readable, then: vqa ledger verify"}, nil
	}
	return doctor.Finding{Verdict: doctor.OK, Detail: fmt.Sprintf("the database contains all %d leaves of the newest checkpoint", t.Size)}, nil
}
