package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/credit"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
)

// logAct is a loss or a revocation in the history of the transparency log, which verification shows always.
type logAct struct {
	// Kind is replace, revoke or restart.
	Kind   string    `json:"kind"`
	Log    int64     `json:"log"`
	Size   int64     `json:"size"`
	Detail string    `json:"detail"`
	Reason string    `json:"reason"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
}

// transparency is what the checkpoints outside the database say about the history of their log.
type transparency struct {
	// Origin is empty when no log was found at the place of the checkpoints.
	Origin string   `json:"origin"`
	Size   int64    `json:"size"`
	Acts   []logAct `json:"acts"`
	// Problem says why the place cannot be read, or that the statements there contradict each other or a pinned key.
	Problem string `json:"problem,omitempty"`
	wrong   bool
}

// transparencyLog reads the acts about the transparency log. It needs no database.
func (a *app) transparencyLog(ctx context.Context) transparency {
	t := transparency{Acts: []logAct{}}
	err := a.readTransparency(ctx, &t)
	if err != nil {
		t.Problem, t.wrong = err.Error(), errors.As(err, new(*seal.Finding))
	}
	return t
}

func (a *app) readTransparency(ctx context.Context, t *transparency) error {
	_, anchors, end, err := a.ledgerPlaces(ctx)
	if err != nil {
		return err
	}
	h, err := anchors.Head(ctx, seal.Head{})
	if err != nil {
		return errors.Join(err, end())
	}
	openings, err := anchors.Openings(ctx, h.Keys)
	if err := errors.Join(err, end()); err != nil {
		return err
	}
	t.Origin, t.Size = h.Opening.Origin, h.Checkpoint.Size
	for _, s := range h.Keys.Statements {
		act := logAct{Kind: string(s.Action), Log: s.Log, Size: s.Size, Reason: s.Reason, By: s.Actor, At: s.At}
		switch key := credit.LedgerKeyID(s.Key); s.Action {
		case translog.Replace:
			act.Detail = "key " + key + " seals without the signature of the key before it, which was lost"
		case translog.Revoke:
			act.Detail = fmt.Sprintf("checkpoints of key %s count only up to %d leaves", key, s.Size)
		default:
			continue
		}
		t.Acts = append(t.Acts, act)
	}
	for _, o := range openings {
		if r := o.Restart; r != nil {
			t.Acts = append(t.Acts, logAct{
				Kind: "restart", Log: o.Number, Size: r.Size, Reason: r.Reason, By: r.Actor, At: r.At,
				Detail: fmt.Sprintf("log %d continues %s after %d leaves; lost: %s", o.Number, r.Origin, r.Size, r.Lost),
			})
		}
	}
	return nil
}

// print prints the acts.
func (t transparency) print(out io.Writer) {
	switch {
	case t.Problem != "":
		fmt.Fprintf(out, "  the checkpoints outside the database cannot be verified: %s\n", t.Problem)
	case t.Origin == "":
		fmt.Fprintln(out, "  no transparency log at the place of the checkpoints (VQA_LEDGER_ANCHOR_URL, or the object store)")
	}
	for _, a := range t.Acts {
		fmt.Fprintf(out, "  %s of the transparency log, %s by %s: %s; reason: %s\n", a.Kind, a.At.Format(time.DateTime), terminal.Printable(a.By), a.Detail, terminal.Printable(a.Reason))
	}
}
