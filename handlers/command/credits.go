package command

import (
	"context"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore/fold"
)

// CreditChange holds the fields that all balance changes by an operator share.
type CreditChange struct {
	AccountID string
	// Reason is recorded in the ledger.
	Reason string
	// Operator is the name of the operator.
	Operator string
	// RequestID identifies the change in the log. An empty one is replaced by a new one.
	RequestID string
	// Idempotency prevents that a repeated command takes effect twice within 24 hours. It may
	// be nil. The keys of operators and of API callers have separate namespaces.
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
	// TransactionID is the transaction to refund.
	TransactionID string
	// Seconds is the amount to refund. 0 means all that is not refunded yet.
	Seconds int64
}

// Posted is the balance after a change, and the transaction that the change recorded.
type Posted struct {
	Balance       credit.State
	TransactionID string
	// RequestID identifies the change in the log. It is empty when Repeated is true.
	RequestID string
	// Repeated is true when an earlier command with the same key recorded the transaction.
	Repeated bool
}

// GrantCredits records a grant, a purchase or an adjustment. A repeated command with the same
// idempotency key changes nothing and returns the current balance. Errors: resource_not_found,
// insufficient_credits when an adjustment would make the balance negative,
// idempotency_key_reused.
func (s *Service) GrantCredits(ctx context.Context, c GrantCredits) (Posted, error) {
	return s.post(ctx, c.CreditChange, func(_ credit.State, txn string) credit.Command {
		return credit.Grant{AccountID: c.AccountID, TransactionID: txn, Kind: c.Kind, Seconds: c.Seconds, Reason: c.Reason}
	})
}

// RefundCredits refunds a transaction, wholly or in part. A repeated command with the same
// idempotency key changes nothing. Errors: resource_not_found for an unknown account or
// transaction, insufficient_credits when the credits were already used, resource_conflict when
// nothing is left to refund, validation_failed, idempotency_key_reused.
func (s *Service) RefundCredits(ctx context.Context, c RefundCredits) (Posted, error) {
	// A transaction never changes, so it can be read before the command enters the lane.
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

// historyPage is the number of events that transaction reads at a time.
const historyPage = 1000

// transaction finds a transaction in the history of an account.
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

// post records an operator's change of a balance. With an idempotency key it does so once.
func (s *Service) post(ctx context.Context, o CreditChange, change func(balance credit.State, txn string) credit.Command) (Posted, error) {
	// No account has such an id, so an API caller cannot use up an operator's key.
	operator := Caller{AccountID: "operator/" + o.AccountID, Idempotency: o.Idempotency}
	earlier, err := s.Replay(ctx, operator)
	if err != nil {
		return Posted{}, err
	}
	in := s.operatorIntent(o.AccountID, o.Operator, o.RequestID)
	in.streams = append(in.streams, accounts.Stream(o.AccountID), credits.Stream(o.AccountID))
	in.receipt = operator.intent().receipt
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
