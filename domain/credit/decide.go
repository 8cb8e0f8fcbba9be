package credit

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// Decide returns the events of a command, or the fault that refuses it:
// insufficient_credits, quota_exceeded, validation_failed or resource_conflict.
func Decide(s State, command Command, now time.Time) ([]Event, error) {
	switch c := command.(type) {
	case Grant:
		return decideGrant(s, c, now)
	case Hold:
		return decideHold(s, c, now)
	case Extend:
		return decideExtend(s, c, now)
	case Settle:
		return decideSettle(s, c, now)
	case Release:
		return decideRelease(s, c, now)
	case Expire:
		return decideExpire(s, c, now)
	case Refund:
		return decideRefund(s, c, now)
	default:
		panic(fmt.Sprintf("credit: unknown command %T", command))
	}
}

func decideGrant(s State, c Grant, now time.Time) ([]Event, error) {
	if c.Seconds > MaxSeconds-s.PostedSeconds || c.Seconds < -MaxSeconds {
		return nil, invalidSeconds(tooLarge)
	}
	switch c.Kind {
	case SignupGrant, CardGrant, Purchase:
		if c.Seconds <= 0 {
			return nil, invalidSeconds("must be at least 1")
		}
	case Adjustment:
		if c.Seconds == 0 {
			return nil, invalidSeconds("must not be 0")
		}
		if s.AvailableSeconds()+c.Seconds < 0 {
			return nil, insufficient(s, c.AccountID, -c.Seconds)
		}
	default:
		return nil, fault.Invalid(fault.Violation{Param: "kind", Code: fault.Enum, Message: "must be signup_grant, card_grant, purchase or adjustment"})
	}
	return []Event{Granted{
		AccountID: c.AccountID, TransactionID: c.TransactionID, Kind: c.Kind, Seconds: c.Seconds,
		BalanceAfter: s.PostedSeconds + c.Seconds, Reason: c.Reason, At: now,
	}}, nil
}

func decideHold(s State, c Hold, now time.Time) ([]Event, error) {
	if c.Seconds < 0 {
		return nil, invalidSeconds("must not be negative")
	}
	if _, open := s.Holds.Get(c.SourceID); open {
		return nil, nil
	}
	if c.Seconds > s.AvailableSeconds() {
		return nil, insufficient(s, c.AccountID, c.Seconds)
	}
	if err := checkQuota(s, c.Seconds, c.QuotaSeconds, now); err != nil {
		return nil, err
	}
	if err := checkGrant(s, c.Seconds, c.GrantID, c.GrantLimitSeconds); err != nil {
		return nil, err
	}
	return []Event{Held{
		AccountID: c.AccountID, HoldID: c.HoldID, Seconds: c.Seconds, SourceType: c.SourceType,
		SourceID: c.SourceID, DiscountPct: c.DiscountPct, ExpiresAt: c.ExpiresAt,
		GrantID: c.GrantID, GrantLimitSeconds: c.GrantLimitSeconds, At: now,
	}}, nil
}

func decideExtend(s State, c Extend, now time.Time) ([]Event, error) {
	h, err := s.openHold(c.SourceID)
	switch {
	case err != nil:
		return nil, err
	case c.Seconds < 1:
		return nil, invalidSeconds("must be at least 1")
	case c.Seconds > s.AvailableSeconds():
		return nil, insufficient(s, s.AccountID, c.Seconds)
	}
	if err := checkQuota(s, c.Seconds, c.QuotaSeconds, now); err != nil {
		return nil, err
	}
	if err := checkGrant(s, c.Seconds, h.GrantID, h.GrantLimitSeconds); err != nil {
		return nil, err
	}
	return []Event{Extended{
		AccountID: s.AccountID, HoldID: h.ID, SourceType: h.SourceType, SourceID: h.SourceID, Seconds: c.Seconds,
		HeldSeconds: h.Seconds + c.Seconds, DiscountPct: h.DiscountPct, ExpiresAt: c.ExpiresAt, At: now,
	}}, nil
}

func decideSettle(s State, c Settle, now time.Time) ([]Event, error) {
	h, err := s.openHold(c.SourceID)
	if err != nil {
		return nil, err
	}
	if c.Seconds < 0 {
		return nil, invalidSeconds("must not be negative")
	}
	billed := min(Discounted(c.Seconds, h.DiscountPct), h.Seconds+s.AvailableSeconds(), h.Seconds+s.grantRoom(h.GrantID, h.GrantLimitSeconds))
	return []Event{Settled{
		AccountID: s.AccountID, HoldID: h.ID, TransactionID: c.TransactionID, Kind: debitKind[h.SourceType],
		SourceType: h.SourceType, SourceID: h.SourceID, Seconds: billed, HeldSeconds: h.Seconds,
		DiscountPct: h.DiscountPct, BalanceAfter: s.PostedSeconds - billed, At: now,
	}}, nil
}

func decideRelease(s State, c Release, now time.Time) ([]Event, error) {
	h, err := s.openHold(c.SourceID)
	if err != nil {
		return nil, err
	}
	return []Event{h.released(s.AccountID, ByCommand, now)}, nil
}

func decideExpire(s State, c Expire, now time.Time) ([]Event, error) {
	h, err := s.openHold(c.SourceID)
	if err != nil {
		return nil, err
	}
	if now.Before(h.ExpiresAt) {
		return nil, fault.Newf(fault.ResourceConflict, "The hold of %s has not expired.", c.SourceID)
	}
	return []Event{h.released(s.AccountID, ByExpiry, now)}, nil
}

func (h OpenHold) released(accountID string, why ReleaseReason, now time.Time) Released {
	return Released{
		AccountID: accountID, HoldID: h.ID, SourceType: h.SourceType, SourceID: h.SourceID,
		Seconds: h.Seconds, Reason: why, At: now,
	}
}

func decideRefund(s State, c Refund, now time.Time) ([]Event, error) {
	var sign int64
	switch c.Original.Kind {
	case AnalysisDebit, StreamDebit:
		sign = 1
	case SignupGrant, CardGrant, Purchase:
		sign = -1
	default:
		// An adjustment or a refund is corrected with an adjustment.
		return nil, fault.Invalid(fault.Violation{Param: "kind", Code: fault.Enum, Message: "must be a debit, a grant or a purchase; correct an adjustment with another adjustment"})
	}
	left := s.RefundableSeconds(c.Original)
	switch {
	case left <= 0:
		return nil, fault.Newf(fault.ResourceConflict, "Transaction %s is already refunded in full.", c.Original.TransactionID)
	case c.Seconds < 1:
		return nil, invalidSeconds("must be at least 1")
	case c.Seconds > left:
		return nil, invalidSeconds(fmt.Sprintf("must be at most %d, the seconds that are not refunded yet", left))
	case sign > 0 && c.Seconds > MaxSeconds-s.PostedSeconds:
		return nil, invalidSeconds(tooLarge)
	case sign < 0 && c.Seconds > s.AvailableSeconds():
		return nil, insufficient(s, s.AccountID, c.Seconds)
	}
	seconds := sign * c.Seconds
	return []Event{Refunded{
		AccountID: s.AccountID, TransactionID: c.TransactionID, Refunds: c.Original.TransactionID, Kind: c.Original.Kind,
		SourceType: c.Original.SourceType, SourceID: c.Original.SourceID, Seconds: seconds,
		BalanceAfter: s.PostedSeconds + seconds, Reason: c.Reason, At: now,
	}}, nil
}

func (s State) openHold(sourceID string) (OpenHold, error) {
	h, ok := s.Holds.Get(sourceID)
	if !ok {
		return OpenHold{}, fault.Newf(fault.ResourceConflict, "%s has no open hold.", sourceID)
	}
	return h, nil
}

// insufficient returns the fault for a balance that is too low (docs/contract.md#credit-refusals). An
// account without credits has no state yet, so its id is an argument.
func insufficient(s State, accountID string, needed int64) error {
	return fault.Newf(fault.InsufficientCredits, "This operation needs %d credit-seconds, but only %d are available. "+
		"The operator of the service adds some with: vqa credits grant %s 6000 --reason TEXT --idempotency-key KEY", needed, s.AvailableSeconds(), accountID).
		WithDetail("meter", "credit_seconds").
		WithDetail("needed_seconds", needed).
		WithDetail("available_seconds", s.AvailableSeconds())
}

// tooLarge is the message for an amount that would push the balance over MaxSeconds.
var tooLarge = fmt.Sprintf("is too large; a balance can have at most %d seconds", MaxSeconds)

func invalidSeconds(message string) error {
	return fault.Invalid(fault.Violation{Param: "seconds", Code: fault.Range, Message: message})
}
