package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/credit"
	"vqa/domain/fault"
)

// TestKeysAndCredits runs the subcommands on a real database. It is not parallel because the commands
// read the environment.
func TestKeysAndCredits(t *testing.T) {
	b := newToolbench(t)
	vqa := func(into any, args ...string) error {
		t.Helper()
		out, _, err := b.run(args...)
		if err == nil {
			require.NoError(t, json.Unmarshal([]byte(out), into), out)
		}
		return err
	}

	var live, test issuedKey
	require.NoError(t, vqa(&live, "keys", "create", "--mode", "live", "--grant-seconds", "6000", "--name", "camera", "--json"))
	require.Regexp(t, `^svc_live_`, live.APIKey)
	require.Equal(t, account.Live, live.Mode)
	require.Equal(t, int64(6000), live.GrantSeconds)
	require.Nil(t, live.ExpiresAt)
	require.NoError(t, vqa(&test, "keys", "create", "--mode", "test", "--account", live.AccountID, "--expires-in", "1h", "--json"))
	require.Regexp(t, `^svc_test_`, test.APIKey)
	require.Equal(t, live.AccountID, test.AccountID)
	require.WithinDuration(t, time.Now().Add(time.Hour), *test.ExpiresAt, time.Minute)
	require.NotEmpty(t, test.FixtureVideoID)

	b.text("keys", "revoke", live.AccountID, live.KeyID)
	var keys []listedKey
	require.NoError(t, vqa(&keys, "keys", "list", "--account", live.AccountID, "--json"))
	require.Len(t, keys, 2)
	require.Equal(t, []string{test.KeyID, "active"}, []string{keys[0].KeyID, keys[0].Status}, "newest first")
	require.Equal(t, []string{live.KeyID, "revoked", "camera"}, []string{keys[1].KeyID, keys[1].Status, keys[1].Name})

	var shown shownCredits
	buy := []string{"credits", "purchase", live.AccountID, "500", "--reason", "invoice 7", "--idempotency-key", "i7", "--json"}
	require.NoError(t, vqa(&shown, buy...))
	require.Regexp(t, "^req_", shown.RequestID)
	bought := shown.TransactionID
	shown = shownCredits{}
	require.NoError(t, vqa(&shown, buy...), "a repetition changes nothing")
	require.Equal(t, shownCredits{
		AccountID: live.AccountID, BalanceSeconds: 6500, AvailableSeconds: 6500, TransactionID: bought, Repeated: true,
	}, shown)
	err := vqa(&shown, "credits", "purchase", live.AccountID, "501", "--reason", "invoice 7", "--idempotency-key", "i7", "--json")
	require.True(t, fault.Has(err, fault.IdempotencyKeyReused), "%v", err)
	require.NoError(t, vqa(&shown, "credits", "adjust", "--json", "--reason", "typo", "--idempotency-key", "i8", "--", live.AccountID, "-100"))
	err = vqa(&shown, "credits", "adjust", "--json", "--reason", "typo", "--idempotency-key", "i9", "--", live.AccountID, "-10000")
	require.True(t, fault.Has(err, fault.InsufficientCredits), "%v", err)
	require.NoError(t, vqa(&shown, "credits", "show", live.AccountID, "--json"))
	require.Equal(t, []int64{6400, 0, 6400}, []int64{shown.BalanceSeconds, shown.HeldSeconds, shown.AvailableSeconds})
	var deltas []int64
	for _, x := range shown.Transactions {
		deltas = append(deltas, x.SecondsDelta)
	}
	require.Equal(t, []int64{-100, 500, 6000}, deltas, "newest first")

	require.NoError(t, vqa(&shown, "credits", "refund", live.AccountID, bought, "200", "--reason", "returned", "--idempotency-key", "i10", "--json"))
	require.Equal(t, int64(6200), shown.BalanceSeconds)
	require.NoError(t, vqa(&shown, "credits", "refund", live.AccountID, bought, "--reason", "returned", "--idempotency-key", "i11", "--json"))
	require.Equal(t, int64(5900), shown.BalanceSeconds, "the part that was not refunded yet")
	err = vqa(&shown, "credits", "refund", live.AccountID, bought, "--reason", "returned", "--idempotency-key", "i12", "--json")
	require.True(t, fault.Has(err, fault.ResourceConflict), "%v", err)
	require.NoError(t, vqa(&shown, "credits", "grant", live.AccountID, "1", "--kind", "signup_grant", "--reason", "welcome", "--idempotency-key", "i13", "--json"))
	require.NoError(t, vqa(&shown, "credits", "show", live.AccountID, "--json"))
	require.Equal(t, credit.SignupGrant, shown.Transactions[0].Kind)
	require.Equal(t, bought, *shown.Transactions[1].Refunds)

	var sealed struct {
		Size  int64
		KeyID string `json:"key_id"`
	}
	require.NoError(t, vqa(&sealed, "ledger", "checkpoint", "--json"))
	size := sealed.Size
	require.Positive(t, size)
	require.Regexp(t, "^lk_[0-9a-f]{16}$", sealed.KeyID)
	keyID := sealed.KeyID
	require.NoError(t, vqa(&sealed, "ledger", "checkpoint", "--json"))
	require.Equal(t, size, sealed.Size, "nothing moved")
	require.Equal(t, keyID, sealed.KeyID, "the key does not change")

	for _, args := range [][]string{
		{"credits", "show", "acct_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"}, {"keys", "list", "--account", "acct_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"},
		{"keys", "revoke", live.AccountID, "key_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"},
	} {
		require.True(t, fault.Has(vqa(nil, args...), fault.ResourceNotFound), "%v", args)
	}
}

func TestListKeys(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	past, future := now.Add(-time.Hour), now.Add(time.Hour)
	s := account.State{ID: "acct_1", Keys: map[string]account.Key{
		"a": {ID: "a", IssuedAt: past.Add(-3 * time.Hour), RevokedAt: &past},
		"b": {ID: "b", IssuedAt: past.Add(-2 * time.Hour), ExpiresAt: &past},
		"c": {ID: "c", IssuedAt: past, ExpiresAt: &future},
		"d": {ID: "d", IssuedAt: past.Add(-4 * time.Hour), Legacy: true},
		"e": {ID: "e", IssuedAt: past.Add(-5 * time.Hour), RestrictedAt: &past},
	}}
	var got [][2]string
	for _, k := range listKeys(s, account.LegacyWindow{AnnouncedAt: now.AddDate(-1, 0, 0)}, now) {
		got = append(got, [2]string{k.KeyID, k.Status})
	}
	require.Empty(t, cmp.Diff([][2]string{{"c", "active"}, {"b", "expired"}, {"a", "revoked"}, {"d", "expired"}, {"e", "restricted"}}, got))
}
