package account

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// DeviceCodeCommand is a request to change a device code.
type DeviceCodeCommand interface{ isDeviceCodeCommand() }

// RequestDeviceCode starts a claim.
type RequestDeviceCode struct {
	// Hash and UserCodeHash are the hashes of the two codes (HashSecret).
	Hash         string
	UserCodeHash string
	// RequesterAccountID and RequesterKeyID are empty when the request carries no API key.
	RequesterAccountID string
	RequesterKeyID     string
}

// ApproveDeviceCode allows the program to collect a key of an account.
type ApproveDeviceCode struct{ AccountID string }

// DenyDeviceCode refuses the program a key.
type DenyDeviceCode struct{ AccountID string }

// ConsumeDeviceCode issues the key when the claim is approved.
type ConsumeDeviceCode struct{ KeyID string }

func (RequestDeviceCode) isDeviceCodeCommand() {}
func (ApproveDeviceCode) isDeviceCodeCommand() {}
func (DenyDeviceCode) isDeviceCodeCommand()    {}
func (ConsumeDeviceCode) isDeviceCodeCommand() {}

// DecideDeviceCode returns the events of a command, or the fault that refuses it:
// resource_not_found, resource_conflict or device_code_expired.
func DecideDeviceCode(d DeviceCode, command DeviceCodeCommand, now time.Time) ([]DeviceCodeEvent, error) {
	if c, requesting := command.(RequestDeviceCode); requesting {
		return decideRequest(d, c, now)
	}
	if !d.Exists() {
		return nil, fault.NotFound("code", "") // the message must not repeat the code, which is a secret
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
	return fault.New(fault.ResourceConflict, "This key request has already been approved and cannot be changed.")
}
