package main

import (
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

// transparency is what the log outside the database says, and whether the database was compared with it.
type transparency struct {
	// Origin is empty when no log was found at the place of the checkpoints.
	Origin string `json:"origin"`
	// Size is the number of leaves of the newest checkpoint, and Position the position of the last of them that was compared.
	Size     int64    `json:"size"`
	Position int64    `json:"position"`
	Acts     []logAct `json:"acts"`
	// Compared is true when the database was compared with the newest checkpoint, also when they differ.
	Compared bool `json:"compared"`
	// Problem is the first difference, or why nothing was compared.
	Problem string `json:"problem,omitempty"`
}

// transparencyOf returns the state and the acts of the log.
func transparencyOf(h seal.Head) transparency {
	t := transparency{Origin: h.Opening.Origin, Size: h.Checkpoint.Size, Acts: []logAct{}}
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
	for _, o := range h.Openings {
		if r := o.Restart; r != nil {
			t.Acts = append(t.Acts, logAct{
				Kind: "restart", Log: o.Number, Size: r.Size, Reason: r.Reason, By: r.Actor, At: r.At,
				Detail: fmt.Sprintf("log %d continues %s after %d leaves; lost: %s", o.Number, r.Origin, r.Size, r.Lost),
			})
		}
	}
	return t
}

// print prints the comparison and the acts.
func (t transparency) print(out io.Writer) {
	switch {
	case t.Size > 0:
		fmt.Fprintf(out, "  the newest checkpoint outside the database has %s leaves", terminal.Thousands(t.Size))
		if t.Position > 0 {
			fmt.Fprintf(out, ", up to position %s", terminal.Thousands(t.Position))
		}
		fmt.Fprintln(out)
	case t.Compared && t.Problem == "":
		fmt.Fprintln(out, "  no checkpoint is signed yet, so nothing proves that no event was removed")
	}
	for _, a := range t.Acts {
		fmt.Fprintf(out, "  %s of the transparency log, %s by %s: %s; reason: %s\n", a.Kind, a.At.Format(time.DateTime), terminal.Printable(a.By), a.Detail, terminal.Printable(a.Reason))
	}
}
