package webhook

import "time"

// Command is a request to change a webhook endpoint.
type Command interface{ isCommand() }

// Ref names an endpoint. Livemode is the mode of the caller: an endpoint of the other mode
// reads as unknown.
type Ref struct {
	ID       string
	Livemode bool
}

// Settings is the part of an endpoint that its owner chooses.
type Settings struct {
	// URL is an absolute https URL. The caller has checked that it names a public host.
	URL string
	// Events is a list of EventTypes without duplicates, at least one.
	Events []string
	// Description has at most MaxDescription characters. Empty means none.
	Description string
	// NoticeEmail is an address without a name, such as ops@example.com, of at most maxEmail characters. Empty means none.
	NoticeEmail string
}

// Create adds an endpoint to an account.
type Create struct {
	Ref
	AccountID string
	Settings
	Secret Secret
}

// Change replaces the settings that are not nil.
type Change struct {
	Ref
	URL    *string
	Events []string
	// Description and NoticeEmail are removed when they are empty.
	Description, NoticeEmail *string
}

// RotateSecret replaces the secret of an endpoint. The old one signs for RotationOverlap.
type RotateSecret struct {
	Ref
	Secret Secret
}

// Disable ends the deliveries of an endpoint at the request of its owner.
type Disable struct{ Ref }

// Fail disables an endpoint because its deliveries fail.
type Fail struct {
	Ref
	// FailedAt is the first of these failures. One before Endpoint.FailuresSince does not count.
	FailedAt time.Time
}

// WarnOwner says that all attempts to an endpoint have failed since a time. Its owner is warned once of them.
type WarnOwner struct {
	Ref
	FailingSince time.Time
}

// Enable makes a disabled endpoint receive events again.
type Enable struct{ Ref }

// Delete removes an endpoint.
type Delete struct{ Ref }

func (Create) isCommand()       {}
func (Change) isCommand()       {}
func (RotateSecret) isCommand() {}
func (Disable) isCommand()      {}
func (Fail) isCommand()         {}
func (WarnOwner) isCommand()    {}
func (Enable) isCommand()       {}
func (Delete) isCommand()       {}
