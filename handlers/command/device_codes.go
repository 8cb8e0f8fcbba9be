package command

import (
	"context"
	"fmt"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

var (
	deviceCodes = aggregate[account.DeviceCode, account.DeviceCodeCommand, account.DeviceCodeEvent]{
		Of: fold.DeviceCode, decide: account.DecideDeviceCode,
	}
	claimAddresses = aggregate[account.ClaimAddress, account.RequestClaim, account.ClaimRequested]{
		Of: fold.ClaimAddress, decide: account.DecideClaim, snapshots: true,
	}
	claimGuesses = aggregate[account.ClaimGuesses, account.EnterUserCode, account.UserCodeMissed]{
		Of: fold.ClaimGuesses, decide: account.DecideUserCode, snapshots: true,
	}
)

// claimedKeyName is the name of every claimed key.
const claimedKeyName = "claimed"

// RequestedCodes holds the two codes of a new claim. They are returned only here. The service
// keeps their hashes.
type RequestedCodes struct {
	// DeviceCode stays in the requesting program. Its holder receives the key.
	DeviceCode string
	// UserCode is for the person who approves. It is in its normal form.
	UserCode  string
	ExpiresAt time.Time
}

// RequestDeviceCode starts the claim of a billed key. For an anonymous caller only RequestID and
// Idempotency are set. Error: rate_limit_exceeded when the address has too many open claims.
func (s *Service) RequestDeviceCode(ctx context.Context, caller Caller, addressHash string) (RequestedCodes, error) {
	deviceCode, err := account.NewDeviceCode(s.Entropy)
	if err != nil {
		return RequestedCodes{}, err
	}
	userCode, err := account.NewUserCode(s.Entropy)
	if err != nil {
		return RequestedCodes{}, err
	}
	requested := RequestedCodes{DeviceCode: deviceCode, UserCode: userCode}
	hash := account.HashSecret(deviceCode)
	in := intent{
		// All claims of an address go through one lane, which counts them for the limit.
		accountID: addressHash, meta: caller.meta(), streams: []eventstore.StreamID{claimAddresses.Stream(addressHash)},
		receipt: caller.receipt(),
	}
	in.created(hash)
	if caller.AccountID == "" {
		in.meta.Actor = "anonymous"
	}
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		ss.fresh(deviceCodes.Stream(hash))
		closed, err := closedClaims(ss, addressHash)
		if err != nil {
			return err
		}
		if _, err := claimAddresses.record(ss, addressHash, account.RequestClaim{
			AddressHash: addressHash, CodeHash: hash, Closed: closed,
		}); err != nil {
			return err
		}
		d, err := deviceCodes.record(ss, hash, account.RequestDeviceCode{
			Hash: hash, UserCodeHash: account.HashSecret(userCode),
			RequesterAccountID: caller.AccountID, RequesterKeyID: caller.KeyID,
		})
		requested.ExpiresAt = d.ExpiresAt
		return err
	})
	return requested, err
}

// closedClaims returns the claims of an address that have ended. It returns nothing
// while the address is below the limit, because then the count does not matter.
func closedClaims(ss *session, addressHash string) ([]string, error) {
	a, err := claimAddresses.get(ss, addressHash)
	if err != nil || len(a.Held) < account.MaxOpenClaims {
		return nil, err
	}
	var closed []string
	for _, held := range a.Held {
		d, err := deviceCodes.get(ss, held.CodeHash)
		if err != nil {
			return nil, err
		}
		if !d.Open(ss.now) {
			closed = append(closed, held.CodeHash)
		}
	}
	return closed, nil
}

// EnterUserCode counts a user code that a signed-in person entered. known is true when a claim
// has this code. Error: rate_limit_exceeded after too many wrong codes, even if this one is
// right.
func (s *Service) EnterUserCode(ctx context.Context, caller Caller, known bool) error {
	return s.Pipeline.do(ctx, caller.intent(claimGuesses.Stream(caller.AccountID)), func(ss *session) error {
		_, err := claimGuesses.record(ss, caller.AccountID, account.EnterUserCode{AccountID: caller.AccountID, Known: known})
		return err
	})
}

// ApproveDeviceCode allows the holder of a device code to collect a key of the caller's account.
// Errors: resource_not_found, resource_conflict when another account decided already,
// device_code_expired.
func (s *Service) ApproveDeviceCode(ctx context.Context, caller Caller, codeHash string) error {
	return s.decideDeviceCode(ctx, caller, codeHash, account.ApproveDeviceCode{AccountID: caller.AccountID})
}

// DenyDeviceCode denies a key to the holder of a device code. Errors are those of
// ApproveDeviceCode.
func (s *Service) DenyDeviceCode(ctx context.Context, caller Caller, codeHash string) error {
	return s.decideDeviceCode(ctx, caller, codeHash, account.DenyDeviceCode{AccountID: caller.AccountID})
}

func (s *Service) decideDeviceCode(ctx context.Context, caller Caller, codeHash string, c account.DeviceCodeCommand) error {
	return s.Pipeline.do(ctx, caller.intent(deviceCodes.Stream(codeHash)), func(ss *session) error {
		_, err := deviceCodes.record(ss, codeHash, c)
		return err
	})
}

// CollectKey issues the key of an approved claim. One append consumes the code and issues the
// live key, so only one of several simultaneous requests receives it. Errors:
// resource_not_found, device_code_expired, resource_conflict when the account has too many keys.
func (s *Service) CollectKey(ctx context.Context, codeHash, accountID, requestID string) (IssuedKey, error) {
	key, issue, err := s.newKey(accountID, account.Live, claimedKeyName, nil)
	if err != nil {
		return IssuedKey{}, err
	}
	in := intent{
		accountID: accountID, streams: []eventstore.StreamID{deviceCodes.Stream(codeHash), accounts.Stream(accountID)},
		meta: eventstore.Meta{
			AccountID: accountID, RequestID: requestID, CorrelationID: requestID, CausationID: requestID, Actor: "anonymous",
		},
	}
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		d, err := deviceCodes.record(ss, codeHash, account.ConsumeDeviceCode{KeyID: key.KeyID})
		if err != nil {
			return err
		}
		if d.Status != account.DeviceConsumed || d.AccountID != accountID {
			return fmt.Errorf("the device code %s was not approved by %s", codeHash, accountID)
		}
		if _, err := accounts.record(ss, accountID, issue); err != nil {
			if fault.Has(err, fault.ResourceNotFound) {
				// An internal error: the account that approved always exists.
				return fmt.Errorf("the account %s of an approved device code does not exist", accountID)
			}
			return err
		}
		return nil
	})
	if err != nil {
		return IssuedKey{}, err
	}
	return key, nil
}
