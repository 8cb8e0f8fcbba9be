package command

import (
	"context"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore/fold"
)

// CreditChange is what every operator's change of a balance says.
type CreditChange struct {
	AccountID string
	// Reason is kept in the ledger.
	Reason string
	// Operator is who ordered it.
	Operator string
	// RequestID names the order in the log; it gets one when this is empty.
	RequestID string
	// Idempotency makes a repeated order harmless for 24 hours, or is nil. Its key is the
	// operators' own: callers of the API may use the same.
	Idempotency *Idempotency
}

// GrantCredits is an operator's grant, purchase or adjustment.
type GrantCredits struct {
	CreditChange
	// Kind is signup_grant, card_grant, purchase or adjustment.
	Kind    credit.Kind
	Seconds int64
}

// RefundCredits is an operator's refund of an earlier transaction.
type RefundCredits struct {
	CreditChange
	// TransactionID is what is refunded.
	TransactionID string
	// Seconds is how much of it; 0 is all that is left.
	Seconds int64
}

// Posted is a balance after an order, and the transaction that the order made.
type Posted struct {
	Balance       credit.State
	TransactionID string
	// RequestID names the order in the log; empty when it was repeated.
	RequestID string
	// Repeated is true when an earlier order with the same key made the transaction.
	Repeated bool
}

// GrantCredits carries out the use case. A repeated order with the same
// Idempotency-Key changes nothing and returns the balance as it is. Errors:
// resource_not_found, insufficient_credits for an adjustment below zero,
// idempotency_key_reused.
func (s *Service) GrantCredits(ctx context.Context, c GrantCredits) (Posted, error) {
	return s.post(ctx, c.CreditChange, func(_ credit.State, txn string) credit.Command {
		return credit.Grant{AccountID: c.AccountID, TransactionID: txn, Kind: c.Kind, Seconds: c.Seconds, Reason: c.Reason}
	})
}

// RefundCredits carries out the use case; a repeated order is as harmless as that of
// GrantCredits. Errors: resource_not_found for an account or a transaction that is not
// known, insufficient_credits when a grant was used already, resource_conflict when
// nothing is left to refund, validation_failed, idempotency_key_reused.
func (s *Service) RefundCredits(ctx context.Context, c RefundCredits) (Posted, error) {
	// A transaction never changes, so that it can be read before the order has its turn.
	original, err := s.transaction(ctx, c.AccountID, c.TransactionID)
	if err != nil {
		return Posted{}, err
	}
	return s.post(ctx, c.CreditChange, func(balance credit.State, txn string) credit.Command {
		seconds := c.Seconds
		if seconds == 0 {
			seconds = balance.RefundableSeconds(original)
		}
		return credit.Refund{TransactionID: txn, Original: original, Seconds: seconds, Reason: c.Reason}
	})
}

// historyPage is how many events of a long history are read at a time.
const historyPage = 1000

// transaction finds a transaction in an account's own history, however long.
func (s *Service) transaction(ctx context.Context, accountID, txn string) (credit.Original, error) {
	for version := int64(0); ; {
		page, err := s.Store.ReadStream(ctx, fold.Credit.Stream(accountID), version, historyPage)
		if err != nil {
			return credit.Original{}, err
		}
		for _, r := range page {
			if original, ok := credit.TransactionOf(r.Event.(credit.Event)); ok && original.TransactionID == txn {
				return original, nil
			}
			version = r.Version
		}
		if len(page) < historyPage {
			return credit.Original{}, fault.NotFound("transaction_id", txn)
		}
	}
}

// post records an operator's change of a balance, once.
func (s *Service) post(ctx context.Context, o CreditChange, change func(balance credit.State, txn string) credit.Command) (Posted, error) {
	// No account has such an id, so that no caller of the API can take an operator's key.
	orders := Caller{AccountID: "operator/" + o.AccountID, Idempotency: o.Idempotency}
	earlier, err := s.Replay(ctx, orders)
	if err != nil {
		return Posted{}, err
	}
	in := s.operatorIntent(o.AccountID, o.Operator, o.RequestID)
	in.streams = append(in.streams, accounts.Stream(o.AccountID), credits.Stream(o.AccountID))
	in.receipt = orders.intent().receipt
	in.dryRun = earlier != nil
	var out Posted
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		a, err := accounts.get(ss, o.AccountID)
		if err != nil {
			return err
		}
		if !a.Exists() {
			return fault.NotFound("account_id", o.AccountID)
		}
		if out.Balance, err = credits.get(ss, o.AccountID); err != nil {
			return err
		}
		if in.dryRun {
			out.TransactionID, out.Repeated = earlier.ResourceID, true
			return nil
		}
		out.TransactionID, out.RequestID = s.IDs.New(id.Transaction), in.meta.RequestID
		in.created(out.TransactionID)
		out.Balance, err = credits.record(ss, o.AccountID, change(out.Balance, out.TransactionID))
		return err
	})
	return out, err
}
