package account_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

var aggregate = scenario.Aggregate[account.State, account.Command, account.Event]{
	Decide: account.Decide, Evolve: account.Evolve,
}

var (
	earlier = scenario.Now.Add(-time.Hour)
	opened  = account.Opened{AccountID: "acct_1", Tier: account.FreeGrant, At: earlier}
	issued  = account.KeyIssued{
		AccountID: "acct_1", KeyID: "key_1", Mode: account.Live, Tier: account.FreeGrant, Name: "first",
		SecretHash: "hash", Hint: "abcd", At: earlier,
	}
	revoked = account.KeyRevoked{AccountID: "acct_1", KeyID: "key_1", At: earlier}
)

type cases = []scenario.Case[account.Command, account.Event]

func TestDecide(t *testing.T) {
	t.Parallel()
	expires := scenario.Now.Add(time.Hour)
	aggregate.Run(t, cases{
		{
			Name: "an account is opened", When: account.Open{AccountID: "acct_1", Tier: account.Sandbox},
			Then: []account.Event{account.Opened{AccountID: "acct_1", Tier: account.Sandbox, At: scenario.Now}},
		},
		{
			Name: "an account is opened once", Given: []account.Event{opened}, When: account.Open{AccountID: "acct_1"},
			Refused: fault.ResourceConflict,
		},
		{
			Name: "a key takes the tier of its account", Given: []account.Event{opened},
			When: account.IssueKey{
				KeyID: "key_2", Mode: account.Test, Name: "n", SecretHash: "h", Hint: "x",
				Scopes: []string{"videos:read"}, ExpiresAt: &expires,
			},
			Then: []account.Event{account.KeyIssued{
				AccountID: "acct_1", KeyID: "key_2", Mode: account.Test, Tier: account.FreeGrant, Name: "n",
				SecretHash: "h", Hint: "x", Scopes: []string{"videos:read"}, ExpiresAt: &expires, At: scenario.Now,
			}},
		},
		{
			Name: "a revoked key is not issued again", Given: []account.Event{opened, issued, revoked},
			When: account.IssueKey{KeyID: "key_1"}, Refused: fault.ResourceConflict,
		},
		{
			Name: "no two keys have one secret", Given: []account.Event{opened, issued, revoked},
			When: account.IssueKey{KeyID: "key_2", SecretHash: "hash"}, Refused: fault.ResourceConflict,
		},
		{
			Name: "a key is revoked", Given: []account.Event{opened, issued}, When: account.RevokeKey{KeyID: "key_1"},
			Then: []account.Event{account.KeyRevoked{AccountID: "acct_1", KeyID: "key_1", At: scenario.Now}},
		},
		{
			Name: "revoking twice changes nothing", Given: []account.Event{opened, issued, revoked},
			When: account.RevokeKey{KeyID: "key_1"}, Then: nil,
		},
		{
			Name: "no key without an account", When: account.IssueKey{KeyID: "key_1"}, Refused: fault.ResourceNotFound,
		},
	})
}

func TestUnknownCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = account.Decide(account.State{ID: "acct_1"}, nil, scenario.Now) })
	require.Panics(t, func() { account.Evolve(account.State{}, nil) })
	require.Panics(t, func() { account.EvolveKey(account.Key{}, opened) })
}

// TestLaws runs random commands. A revoked key never changes, no key is lost, and folding
// never changes the earlier state.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s account.State
		keyID := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("key_%d", rapid.IntRange(1, 4).Draw(t, "key")) })
		for i := range rapid.IntRange(0, 40).Draw(t, "steps") {
			now := scenario.Now.Add(time.Duration(i) * time.Second)
			var c account.Command
			hash := fmt.Sprint(i)
			switch rapid.IntRange(0, 9).Draw(t, "command") {
			case 0:
				c = account.Open{AccountID: "acct_1", Tier: account.Paid}
			case 1, 2:
				c = account.IssueKey{KeyID: keyID.Draw(t, "id"), Mode: account.Live, SecretHash: hash, IdleS: int64(rapid.IntRange(0, 9).Draw(t, "idle"))}
			case 3, 4:
				c = account.MintKey{By: keyID.Draw(t, "by"), Mode: account.Live, KeyID: keyID.Draw(t, "id"), SecretHash: hash}
			case 5:
				c = account.RotateKey{Mode: account.Live, KeyID: keyID.Draw(t, "id"), NewKeyID: keyID.Draw(t, "new"), SecretHash: hash}
			case 6:
				c = account.UseKey{KeyID: keyID.Draw(t, "id")}
			case 7:
				c = account.Restrict{}
			case 8:
				c = account.Unrestrict{}
			default:
				c = account.RevokeKey{KeyID: keyID.Draw(t, "id")}
			}
			events, err := account.Decide(s, c, now)
			require.False(t, err != nil && len(events) > 0)
			next := aggregate.Step(t, s, events...)
			for id, before := range s.Keys {
				after, kept := next.Keys[id]
				require.True(t, kept, "%s is gone", id)
				require.Equal(t, before.SecretHash, after.SecretHash, "%s has another secret", id)
				if before.RevokedAt != nil {
					require.Equal(t, before.RevokedAt, after.RevokedAt, "a revoked key changed")
					require.Equal(t, before.ExpiresAt, after.ExpiresAt, "a revoked key changed")
				}
				if before.ReplacedBy != "" {
					require.Equal(t, before.ExpiresAt, after.ExpiresAt, "a replaced key lives longer")
				}
				require.Equal(t, next.RestrictedAt, after.RestrictedAt, "a key and its account disagree")
			}
			s = next
		}
	})
}

// TestNoSecretInAnyEvent checks the events of IssueKey, which the log keeps forever.
func TestNoSecretInAnyEvent(t *testing.T) {
	t.Parallel()
	for _, mode := range []account.Mode{account.Live, account.Test} {
		secret, err := account.NewSecret(mode, entropy())
		require.NoError(t, err)
		events, err := account.Decide(aggregate.Fold(opened), account.IssueKey{
			KeyID: "key_2", Mode: mode, SecretHash: account.HashSecret(secret), Hint: account.Hint(secret),
		}, scenario.Now)
		require.NoError(t, err)
		require.NotEmpty(t, events)
		for _, e := range events {
			data, err := json.Marshal(e)
			require.NoError(t, err)
			require.NotContains(t, string(data), secret)
			require.NotContains(t, string(data), secret[len("svc_live_"):len(secret)-4], "only the hint of the secret is stored")
			require.Contains(t, string(data), account.HashSecret(secret))
		}
	}
}
