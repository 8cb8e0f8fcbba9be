package credit

import "fmt"

// LedgerAccount is an account of the double-entry ledger. The platform has several, and
// each customer has two.
type LedgerAccount string

// The ledger accounts of the platform.
const (
	PlatformGrants        LedgerAccount = "platform:grants"
	PlatformCardGrants    LedgerAccount = "platform:card_grants"
	PlatformSales         LedgerAccount = "platform:sales"
	PlatformAdjustments   LedgerAccount = "platform:adjustments"
	PlatformAnalysisUsage LedgerAccount = "platform:analysis_usage"
	PlatformStreamUsage   LedgerAccount = "platform:stream_usage"
)

// platformAccount is the platform's side of a transaction, by its kind.
var platformAccount = map[Kind]LedgerAccount{
	SignupGrant: PlatformGrants, CardGrant: PlatformCardGrants, Purchase: PlatformSales, Adjustment: PlatformAdjustments,
	AnalysisDebit: PlatformAnalysisUsage, StreamDebit: PlatformStreamUsage,
}

// Available returns the ledger account of the seconds that a customer can still reserve.
func Available(accountID string) LedgerAccount { return LedgerAccount(accountID + ":available") }

// Reserved returns the ledger account of the seconds in a customer's open holds.
func Reserved(accountID string) LedgerAccount { return LedgerAccount(accountID + ":held") }

// Posting is one side of a ledger entry. Seconds is positive when they came into the
// account, negative when they left it, and never 0.
type Posting struct {
	Account LedgerAccount `json:"account"`
	Seconds int64         `json:"seconds"`
}

// Postings returns the ledger entry of an event. Its seconds always sum to zero, and each
// account occurs in it at most once. A hold or a debit of 0 seconds has no postings. Like
// Evolve, it panics on an unknown event.
func Postings(event Event) []Posting {
	switch e := event.(type) {
	case Granted:
		return entry(Posting{platformAccount[e.Kind], -e.Seconds}, Posting{Available(e.AccountID), e.Seconds})
	case Held:
		return entry(Posting{Available(e.AccountID), -e.Seconds}, Posting{Reserved(e.AccountID), e.Seconds})
	case Extended:
		return entry(Posting{Available(e.AccountID), -e.Seconds}, Posting{Reserved(e.AccountID), e.Seconds})
	case Settled:
		return entry(
			Posting{Reserved(e.AccountID), -e.HeldSeconds}, Posting{platformAccount[e.Kind], e.Seconds},
			Posting{Available(e.AccountID), e.HeldSeconds - e.Seconds},
		)
	case Released:
		return entry(Posting{Reserved(e.AccountID), -e.Seconds}, Posting{Available(e.AccountID), e.Seconds})
	case Refunded:
		return entry(Posting{platformAccount[e.Kind], -e.Seconds}, Posting{Available(e.AccountID), e.Seconds})
	default:
		panic(fmt.Sprintf("credit: unknown event %T", event))
	}
}

// entry leaves out the sides with 0 seconds.
func entry(sides ...Posting) []Posting {
	var kept []Posting
	for _, p := range sides {
		if p.Seconds != 0 {
			kept = append(kept, p)
		}
	}
	return kept
}
