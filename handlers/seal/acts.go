package seal

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"

	"vqa/domain/fault"
	"vqa/eventstore/translog"
)

// Operator is the person who acts, with the reason. Both are recorded and shown always.
type Operator struct{ Name, Reason string }

// check returns validation_failed without a reason.
func (o Operator) check() error {
	if o.Reason == "" {
		return fault.Invalid(fault.Violation{Param: "reason", Code: fault.Required, Message: "must say why"})
	}
	return nil
}

// Rotate makes a new key the current one. The old key signs the statement, too.
func (s *Sealer) Rotate(ctx context.Context, to ed25519.PrivateKey, by Operator) (translog.Statement, error) {
	return s.act(ctx, translog.Rotate, to.Public().(ed25519.PublicKey), by, s.Key, to)
}

// Replace makes the key of this sealer the current one, because the old key was lost.
func (s *Sealer) Replace(ctx context.Context, by Operator) (translog.Statement, error) {
	return s.act(ctx, translog.Replace, s.PublicKey(), by, s.Key)
}

// Revoke ends the trust in checkpoints of an old key beyond a size of the newest log.
func (s *Sealer) Revoke(ctx context.Context, key ed25519.PublicKey, beyond int64, by Operator) (translog.Statement, error) {
	if err := by.check(); err != nil {
		return translog.Statement{}, err
	}
	h, err := s.Anchors.Head(ctx, Head{})
	if err != nil {
		return translog.Statement{}, err
	}
	if key.Equal(h.Keys.Current) {
		return translog.Statement{}, fault.New(fault.ResourceConflict, "This is the current key of the log. Rotate it first.")
	}
	statement := h.Keys.Next(translog.Revoke, key)
	statement.Log, statement.Size = h.Opening.Number, beyond
	return s.publish(ctx, h, statement, by, s.Key)
}

// act makes a statement about the key from the newest checkpoint on.
func (s *Sealer) act(ctx context.Context, action translog.Action, key ed25519.PublicKey, by Operator, signers ...ed25519.PrivateKey) (translog.Statement, error) {
	if err := by.check(); err != nil {
		return translog.Statement{}, err
	}
	anchors := s.Anchors
	if action == translog.Replace {
		anchors.Own = nil // it also ends a replacement that somebody else wrote
	}
	h, err := anchors.Head(ctx, Head{})
	if err != nil {
		return translog.Statement{}, err
	}
	if h.Keys.Current == nil {
		return translog.Statement{}, fault.New(fault.ResourceConflict, "The log has not begun. Start the service first.")
	}
	if action == translog.Replace && key.Equal(h.Keys.Current) {
		return translog.Statement{}, fault.New(fault.ResourceConflict,
			`This data folder has the current key of the log, so nothing was lost. Use "vqa ledger keys rotate" for a new key.`)
	}
	statement := h.Keys.Next(action, key)
	statement.Log, statement.Size = h.Opening.Number, h.Checkpoint.Size
	return s.publish(ctx, h, statement, by, signers...)
}

// publish signs and anchors a statement. It verifies it first, so that no wrong statement is ever anchored.
func (s *Sealer) publish(ctx context.Context, h Head, statement translog.Statement, by Operator, signers ...ed25519.PrivateKey) (translog.Statement, error) {
	statement.Reason, statement.Actor, statement.At = by.Reason, by.Name, s.Now()
	signed, err := statement.Sign(signers...)
	if err != nil {
		return statement, err
	}
	if err := h.Keys.Accepts(signed); err != nil {
		return statement, fault.Newf(fault.ResourceConflict, "The statement about the key is not valid: %v.", err).WithCause(err)
	}
	if err := s.Anchors.Files.Create(ctx, keyName(statement.Number), signed); err != nil {
		return statement, err
	}
	return statement, nil
}

// Restart begins a log with the next number, after events or anchors were lost. Its first leaf names the
// last checkpoint of the log before. Verification shows it always.
func (s *Sealer) Restart(ctx context.Context, by Operator) (translog.Opening, error) {
	s.pass.Lock()
	defer s.pass.Unlock()
	if err := by.check(); err != nil {
		return translog.Opening{}, err
	}
	h, err := s.Anchors.Head(ctx, Head{})
	if err != nil {
		return translog.Opening{}, err
	}
	log, err := s.Commands.LedgerLog(ctx)
	if err != nil {
		return translog.Opening{}, err
	}
	if h.Opening.Number == 0 && log.Last.Log == 0 {
		return translog.Opening{}, fault.New(fault.ResourceConflict, "The log has not begun, so there is nothing to continue. Start the service first.")
	}
	if h.Keys.Current == nil {
		if err := s.first(ctx, h.Keys); err != nil {
			return translog.Opening{}, err
		}
		if h.Keys, err = s.Anchors.Keys(ctx); err != nil {
			return translog.Opening{}, err
		}
	}
	if !s.PublicKey().Equal(h.Keys.Current) {
		return translog.Opening{}, ErrNotApproved
	}
	r := translog.Restart{
		Origin: h.Opening.Origin, Size: h.Checkpoint.Size, Root: h.Checkpoint.Root, Digest: h.Checkpoint.Digest(),
		Reason: by.Reason, Actor: by.Name, At: s.Now(),
	}
	if h.Opening.Number < log.Last.Log || h.Opening.Number == log.Last.Log && h.Checkpoint.Size < log.Last.PreviousSize {
		r.Size, r.Root, r.Digest = log.Last.PreviousSize, translog.Hash{}, log.Last.Previous
		r.Lost = fmt.Sprintf("the anchored checkpoints of log %d", log.Last.Log)
	} else if r.Lost, err = s.lost(ctx, h); err != nil {
		return translog.Opening{}, err
	}
	openings, err := s.Anchors.Openings(ctx, h.Keys)
	if err != nil {
		return translog.Opening{}, err
	}
	origin := s.Origin
	if len(openings) > 0 && openings[0].Number == 1 {
		origin = openings[0].Origin
	}
	number := max(h.Opening.Number, log.Last.Log) + 1
	opening := translog.Opening{Number: number, Origin: translog.OriginOf(origin, number), Restart: &r}
	signed, err := opening.Sign(s.Key)
	if err != nil {
		return opening, err
	}
	s.state = nil
	return opening, s.Anchors.Files.Create(ctx, logName(logsFolder, number), signed)
}

// lost describes the first difference between the log and the database.
func (s *Sealer) lost(ctx context.Context, h Head) (string, error) {
	if h.Signed == nil {
		return "the log had no checkpoint", nil
	}
	err := s.trace(ctx, h)
	if found := (*Finding)(nil); errors.As(err, &found) {
		return "from " + found.Error(), nil
	}
	if err == nil {
		return "no sealed event", nil
	}
	return "", err
}
