package credit

import "fmt"

// LedgerAccount is an account of the double-entry ledger: one of the platform's own, or
// one of the two that each customer has.
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

// platformAccount is the other side of a transaction of a kind.
var platformAccount = map[Kind]LedgerAccount{
	SignupGrant: PlatformGrants, CardGrant: PlatformCardGrants, Purchase: PlatformSales, Adjustment: PlatformAdjustments,
	AnalysisDebit: PlatformAnalysisUsage, StreamDebit: PlatformStreamUsage,
}

// Available is the ledger account of what a customer may still reserve.
func Available(accountID string) LedgerAccount { return LedgerAccount(accountID + ":available") }

// Reserved is the ledger account of what a customer's open holds reserve.
func Reserved(accountID string) LedgerAccount { return LedgerAccount(accountID + ":held") }

// Posting is one side of a ledger entry: seconds that came into an account, or left it
// when they are negative. They are never 0.
type Posting struct {
	Account LedgerAccount `json:"account"`
	Seconds int64         `json:"seconds"`
}

// Postings is the ledger entry that an event makes. Its seconds always sum to zero, each
// account stands in it at most once, and a hold or a debit of 0 seconds has none. It
// panics on an event it does not know, as Evolve does.
func Postings(event Event) []Posting {
	switch e := event.(type) {
	case Granted:
		return entry(Posting{platformAccount[e.Kind], -e.Seconds}, Posting{Available(e.AccountID), e.Seconds})
	case Held:
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

// entry drops the sides that move nothing.
func entry(sides ...Posting) []Posting {
	var kept []Posting
	for _, p := range sides {
		if p.Seconds != 0 {
			kept = append(kept, p)
		}
	}
	return kept
}
