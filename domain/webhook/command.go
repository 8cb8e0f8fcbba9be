package webhook

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
	// Description removes the description when it is empty.
	Description *string
}

// RotateSecret replaces the secret of an endpoint. The old one signs for RotationOverlap.
type RotateSecret struct {
	Ref
	Secret Secret
}

// Disable ends the deliveries of an endpoint at the request of its owner.
type Disable struct{ Ref }

// Fail disables an endpoint because its deliveries fail.
type Fail struct{ Ref }

// Enable makes a disabled endpoint receive events again.
type Enable struct{ Ref }

// Delete removes an endpoint.
type Delete struct{ Ref }

func (Create) isCommand()       {}
func (Change) isCommand()       {}
func (RotateSecret) isCommand() {}
func (Disable) isCommand()      {}
func (Fail) isCommand()         {}
func (Enable) isCommand()       {}
func (Delete) isCommand()       {}
