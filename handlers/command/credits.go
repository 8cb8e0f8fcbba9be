package command

import (
	"context"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
)

// GrantCredits is an operator's change of a balance.
type GrantCredits struct {
	AccountID string
	// Kind is a purchase, a card grant or an adjustment.
	Kind    credit.Kind
	Seconds int64
	Reason  string
	// Operator is who ordered it.
	Operator string
	// Idempotency makes a repeated order harmless.
	Idempotency *Idempotency
}

// GrantCredits carries out the use case. A repeated order with the same
// Idempotency-Key changes nothing and returns the balance as it is. Errors:
// resource_not_found, insufficient_credits for an adjustment below zero,
// idempotency_key_reused.
func (s *Service) GrantCredits(ctx context.Context, c GrantCredits) (credit.State, error) {
	in := operatorIntent(c.AccountID, c.Operator)
	in.streams = append(in.streams, accounts.Stream(c.AccountID), credits.Stream(c.AccountID))
	caller := Caller{AccountID: c.AccountID, Idempotency: c.Idempotency}
	earlier, err := s.Replay(ctx, caller)
	if err != nil {
		return credit.State{}, err
	}
	in.dryRun = earlier != nil
	in.receipt = caller.intent().receipt
	var balance credit.State
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		a, err := accounts.get(ss, c.AccountID)
		if err != nil {
			return err
		}
		if !a.Exists() {
			return fault.NotFound()
		}
		if in.dryRun {
			balance, err = credits.get(ss, c.AccountID)
			return err
		}
		txn := s.IDs.New(id.Transaction)
		in.created(txn)
		balance, err = credits.record(ss, c.AccountID, credit.Grant{
			AccountID: c.AccountID, TransactionID: txn, Kind: c.Kind, Seconds: c.Seconds, Reason: c.Reason,
		})
		return err
	})
	return balance, err
}
