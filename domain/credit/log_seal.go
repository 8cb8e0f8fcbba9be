package credit

import (
	"time"

	"vqa/domain/fault"
)

// LedgerLogID is the id of the only stream of seals of the transparency log.
const LedgerLogID = "platform"

// LogSealed says that a pass of the sealer examined all events before this one. The next checkpoint of the
// transparency log covers this event, and so its statement about all accounts.
type LogSealed struct {
	// Log is the number of the transparency log, from 1. It grows with each restart after a loss.
	Log int64 `json:"log"`
	// Size and Root are the tree that the pass covered, and Position is the position of its last event.
	Size     int64  `json:"size"`
	Root     string `json:"root"`
	Position int64  `json:"position"`
	// PreviousSize and Previous are the size and the digest of the checkpoint before. They are 0 and
	// empty in the first seal.
	PreviousSize int64  `json:"previous_size,omitempty"`
	Previous     string `json:"previous,omitempty"`
	// Accounts and AccountRoot are the tree over all accounts at Position.
	Accounts    int64  `json:"accounts"`
	AccountRoot string `json:"account_root"`
	// TotalsHash is the salted SHA-256 of the sums over all accounts, in hexadecimal. The owner of the key
	// can prove the sums with it, and nobody else can guess them.
	TotalsHash string    `json:"totals_hash"`
	At         time.Time `json:"at"`
}

// EventType returns the stored name.
func (LogSealed) EventType() string { return "ledger.sealed" }

// SealLog records a pass of the sealer.
type SealLog struct{ Sealed LogSealed }

// LogState is the newest seal of the transparency log. Its Log is 0 before the first.
type LogState struct {
	Last LogSealed `json:"last"`
}

// DecideLogSeal accepts a seal that extends the last one. Error: resource_conflict when it covers less.
func DecideLogSeal(s LogState, c SealLog, now time.Time) ([]LogSealed, error) {
	next := c.Sealed
	if next.Log < s.Last.Log || next.Log == s.Last.Log && next.Size <= s.Last.Size {
		return nil, fault.Newf(fault.ResourceConflict, "Log %d is already sealed up to leaf %d, so it cannot be sealed up to leaf %d.",
			s.Last.Log, s.Last.Size, next.Size)
	}
	next.At = now
	return []LogSealed{next}, nil
}

// EvolveLog folds a seal.
func EvolveLog(_ LogState, e LogSealed) LogState { return LogState{Last: e} }
