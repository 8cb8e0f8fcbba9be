package account_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/internal/scenario"
)

func TestOwnedAccount(t *testing.T) {
	t.Parallel()
	require.Equal(t, account.OwnedID("https://a", "b"), account.OwnedID("https://a", "b"), "the same at every sign-in")
	require.NotEqual(t, account.OwnedID("https://a", "b"), account.OwnedID("https://", "ab"), "issuer and subject are separated")
	require.NotEqual(t, account.OwnerHash("https://a", "b"), account.OwnerHash("https://", "ab"))
	rapid.Check(t, func(t *rapid.T) {
		owned := account.OwnedID(rapid.String().Draw(t, "issuer"), rapid.String().Draw(t, "subject"))
		require.True(t, id.Valid(id.Account, owned), owned)
		require.LessOrEqual(t, owned[len("acct_")], byte('7'), "a ULID starts with at most 7")
	})
}

func TestSignUp(t *testing.T) {
	t.Parallel()
	first := []account.Event{
		account.Opened{AccountID: "acct_1", Tier: account.Paid, At: scenario.Now},
		account.SignedUp{AccountID: "acct_1", Owner: "hash", At: scenario.Now},
	}
	again := account.SignUp{AccountID: "acct_1", Owner: "hash"}
	aggregate.Run(t, cases{
		{Name: "the first sign-in", When: again, Then: first},
		{Name: "a later one", Given: first, When: again},
		{Name: "by another", Given: first, When: account.SignUp{AccountID: "acct_1", Owner: "other"}, Refused: fault.ResourceConflict},
		{Name: "an operator's account", Given: []account.Event{opened}, When: again, Refused: fault.ResourceConflict},
	})
	require.Equal(t, "hash", aggregate.Fold(first...).Owner)

	given := map[string][]account.Event{"(none)": nil, "person": first, "unowned": {opened}}
	when := map[string]account.Command{"SignUp": again, "SignUp by another": account.SignUp{AccountID: "acct_1", Owner: "other"}}
	scenario.ReadTable(t, "owner").Check(t, []string{"(none)", "person", "unowned"}, []string{"SignUp", "SignUp by another"},
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			events, err := account.Decide(s, when[command], scenario.Now)
			switch s = aggregate.Step(t, s, events...); {
			case !s.Exists():
				return "(none)", scenario.Outcome(events, err)
			case s.Owner != "":
				return "person", scenario.Outcome(events, err)
			default:
				return "unowned", scenario.Outcome(events, err)
			}
		})
}

func TestEmail(t *testing.T) {
	t.Parallel()
	first := []account.Event{
		account.Opened{AccountID: "acct_1", Tier: account.Paid, At: scenario.Now},
		account.SignedUp{AccountID: "acct_1", Owner: "hash", At: scenario.Now},
		account.EmailStated{AccountID: "acct_1", Email: "ada@example.com", At: scenario.Now},
	}
	stated := func(email string) account.SignUp {
		return account.SignUp{AccountID: "acct_1", Owner: "hash", Email: email}
	}
	aggregate.Run(t, cases{
		{Name: "the first sign-in", When: stated("ada@example.com"), Then: first},
		{Name: "the same again", Given: first, When: stated("ada@example.com")},
		{Name: "a sign-in without one", Given: first, When: stated("")},
		{Name: "another one", Given: first, When: stated("ada@example.org"), Then: []account.Event{
			account.EmailStated{AccountID: "acct_1", Email: "ada@example.org", At: scenario.Now},
		}},
	})
	require.Equal(t, "ada@example.com", aggregate.Fold(first...).Email)
}

func TestOnlyVerifiedAddressesCount(t *testing.T) {
	t.Parallel()
	for _, c := range []account.EmailClaims{{Email: "ada@example.com", EmailVerified: true}, {Email: "ada@example.com", EmailVerified: "true"}} {
		require.Equal(t, "ada@example.com", c.Verified())
	}
	for _, c := range []account.EmailClaims{
		{}, {Email: "ada@example.com"}, {Email: "ada@example.com", EmailVerified: false}, {Email: "ada@example.com", EmailVerified: 1.0},
		{Email: 7.0, EmailVerified: true}, {Email: "ada", EmailVerified: true}, {Email: "Ada <ada@example.com>", EmailVerified: true},
		{Email: "ada@example.com\r\nBcc: eve@example.com", EmailVerified: true}, {Email: "ädä@example.com", EmailVerified: true},
		{Email: strings.Repeat("a", 250) + "@b.cd", EmailVerified: true},
	} {
		require.Empty(t, c.Verified(), "%+v", c)
	}
}
