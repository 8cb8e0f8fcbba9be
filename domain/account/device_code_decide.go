package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// DeviceCodeCommand is a request to change a device code.
type DeviceCodeCommand interface{ isDeviceCodeCommand() }

// RequestDeviceCode begins a claim.
type RequestDeviceCode struct {
	// Hash and UserCodeHash are those of the two codes (HashSecret).
	Hash         string
	UserCodeHash string
	// RequesterAccountID and RequesterKeyID are empty without an API key.
	RequesterAccountID string
	RequesterKeyID     string
}

// ApproveDeviceCode lets the program have a key of an account.
type ApproveDeviceCode struct{ AccountID string }

// DenyDeviceCode refuses the program a key.
type DenyDeviceCode struct{ AccountID string }

// ConsumeDeviceCode hands the key out, if the claim is approved.
type ConsumeDeviceCode struct{ KeyID string }

func (RequestDeviceCode) isDeviceCodeCommand() {}
func (ApproveDeviceCode) isDeviceCodeCommand() {}
func (DenyDeviceCode) isDeviceCodeCommand()    {}
func (ConsumeDeviceCode) isDeviceCodeCommand() {}

// DecideDeviceCode returns the events that a command leads to, or the fault that
// refuses it: resource_not_found, resource_conflict, device_code_expired.
func DecideDeviceCode(d DeviceCode, command DeviceCodeCommand, now time.Time) ([]DeviceCodeEvent, error) {
	if c, requesting := command.(RequestDeviceCode); requesting {
		return decideRequest(d, c, now)
	}
	if !d.Exists() {
		return nil, fault.NotFound("code", "") // a code is a secret: it is not repeated
	}
	if !d.Open(now) {
		return nil, fault.New(fault.DeviceCodeExpired, "")
	}
	switch c := command.(type) {
	case ApproveDeviceCode:
		if d.Status == DevicePending {
			return []DeviceCodeEvent{DeviceCodeApproved{Hash: d.Hash, AccountID: c.AccountID, At: now}}, nil
		}
		if d.AccountID == c.AccountID {
			return nil, nil
		}
		return nil, alreadyApproved()
	case DenyDeviceCode:
		if d.Status == DevicePending {
			return []DeviceCodeEvent{DeviceCodeDenied{Hash: d.Hash, AccountID: c.AccountID, At: now}}, nil
		}
		return nil, alreadyApproved()
	case ConsumeDeviceCode:
		if d.Status == DevicePending {
			return nil, nil
		}
		return []DeviceCodeEvent{DeviceCodeConsumed{Hash: d.Hash, AccountID: d.AccountID, KeyID: c.KeyID, At: now}}, nil
	default:
		panic(fmt.Sprintf("account: unknown command %T", command))
	}
}

func decideRequest(d DeviceCode, c RequestDeviceCode, now time.Time) ([]DeviceCodeEvent, error) {
	if d.Exists() {
		return nil, fault.New(fault.ResourceConflict, "The device code already exists.")
	}
	return []DeviceCodeEvent{DeviceCodeRequested{
		Hash: c.Hash, UserCodeHash: c.UserCodeHash, RequesterAccountID: c.RequesterAccountID,
		RequesterKeyID: c.RequesterKeyID, ExpiresAt: now.Add(DeviceCodeLife), At: now,
	}}, nil
}

func alreadyApproved() error {
	return fault.New(fault.ResourceConflict, "The request was already approved.")
}
