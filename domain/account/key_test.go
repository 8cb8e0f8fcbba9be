package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

const idleS = int64(account.UpgradedKeyIdle / time.Second)

func at(t time.Time) *time.Time { return &t }

// key returns key_1 of acct_1, issued an hour ago, with the given change.
func key(change func(*account.KeyIssued)) account.KeyIssued {
	k := issued
	change(&k)
	return k
}

var (
	idle     = key(func(k *account.KeyIssued) { k.IdleS, k.ExpiresAt = idleS, at(earlier.Add(account.UpgradedKeyIdle)) })
	replaced = account.KeyReplaced{
		AccountID: "acct_1", KeyID: "key_1", ReplacedBy: "key_9", ExpiresAt: earlier.Add(24 * time.Hour), At: earlier,
	}
)

func TestStateTable(t *testing.T) {
	t.Parallel()
	given := map[string][]account.Event{
		"(none)": nil, "open": {opened}, "active": {opened, idle}, "replaced": {opened, idle, replaced}, "revoked": {opened, idle, revoked},
	}
	when := map[string]account.Command{
		"Open": account.Open{AccountID: "acct_1"}, "IssueKey": account.IssueKey{KeyID: "key_1", SecretHash: "new"},
		"MintKey":   account.MintKey{KeyID: "key_1", Mode: account.Live, SecretHash: "new"},
		"RotateKey": account.RotateKey{KeyID: "key_1", NewKeyID: "key_2", Mode: account.Live, SecretHash: "new"},
		"UseKey":    account.UseKey{KeyID: "key_1"}, "RevokeKey": account.RevokeKey{KeyID: "key_1"},
	}
	scenario.ReadTable(t, "state").Check(t,
		[]string{"(none)", "open", "active", "replaced", "revoked"},
		[]string{"Open", "IssueKey", "MintKey", "RotateKey", "UseKey", "RevokeKey"},
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			events, err := account.Decide(s, when[command], scenario.Now)
			return stateOf(aggregate.Step(t, s, events...)), scenario.Outcome(events, err)
		})
}

// stateOf returns the name that the table has for a state of the account and of key_1.
func stateOf(s account.State) string {
	k, found := s.Keys["key_1"]
	switch {
	case !s.Exists():
		return "(none)"
	case !found:
		return "open"
	case k.RevokedAt != nil:
		return "revoked"
	case k.ReplacedBy != "":
		return "replaced"
	default:
		return "active"
	}
}

func TestPlanAndAccessTables(t *testing.T) {
	t.Parallel()
	shut := account.Restricted{AccountID: "acct_1", Reason: "fraud", At: earlier}
	plan := func(tier account.Tier) []account.Event {
		return []account.Event{account.Opened{AccountID: "acct_1", Tier: tier}}
	}
	given := map[string][]account.Event{
		"sandbox": plan(account.Sandbox), "free_grant": plan(account.FreeGrant), "paid": plan(account.Paid),
		"admitted": {opened}, "restricted": {opened, shut},
	}
	when := map[string]account.Command{
		"Upgrade": account.Upgrade{}, "Restrict": account.Restrict{Reason: "fraud"}, "Unrestrict": account.Unrestrict{Reason: "settled"},
	}
	check := func(column string, states, commands []string, stateOf func(account.State) string) {
		scenario.ReadTable(t, column).Check(t, states, commands, func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			events, err := account.Decide(s, when[command], scenario.Now)
			return stateOf(aggregate.Step(t, s, events...)), scenario.Outcome(events, err)
		})
	}
	check("plan", []string{"sandbox", "free_grant", "paid"}, []string{"Upgrade"}, func(s account.State) string { return string(s.Tier) })
	check("access", []string{"admitted", "restricted"}, []string{"Restrict", "Unrestrict"}, func(s account.State) string {
		if s.RestrictedAt != nil {
			return "restricted"
		}
		return "admitted"
	})
}

func TestMintKey(t *testing.T) {
	t.Parallel()
	end := scenario.Now.Add(time.Hour)
	narrow := key(func(k *account.KeyIssued) { k.Scopes, k.ExpiresAt = []string{"videos:write", "keys:write"}, &end })
	testKey := key(func(k *account.KeyIssued) { k.Mode, k.Tier, k.ExpiresAt = account.Test, account.Sandbox, &end })
	order := account.MintKey{By: "key_1", Mode: account.Live, KeyID: "key_2", Name: "n", SecretHash: "h", Hint: "x"}
	with := func(change func(*account.MintKey)) account.MintKey { o := order; change(&o); return o }
	minted := func(change func(*account.KeyIssued)) []account.Event {
		k := account.KeyIssued{
			AccountID: "acct_1", KeyID: "key_2", Mode: account.Live, Tier: account.FreeGrant, Name: "n", SecretHash: "h", Hint: "x", At: scenario.Now,
		}
		change(&k)
		return []account.Event{k}
	}
	aggregate.Run(t, cases{
		{
			Name: "all scopes from all scopes", Given: []account.Event{opened, issued}, When: order,
			Then: minted(func(*account.KeyIssued) {}),
		},
		{
			Name: "without scopes it takes those of the calling key, and its end", Given: []account.Event{opened, narrow}, When: order,
			Then: minted(func(k *account.KeyIssued) { k.Scopes, k.ExpiresAt = narrow.Scopes, &end }),
		},
		{
			Name: "a read scope comes with its write scope", Given: []account.Event{opened, narrow},
			When: with(func(o *account.MintKey) { o.Scopes = []string{"videos:read"} }),
			Then: minted(func(k *account.KeyIssued) { k.Scopes, k.ExpiresAt = []string{"videos:read"}, &end }),
		},
		{
			Name: "a scope that the calling key lacks", Given: []account.Event{opened, narrow},
			When: with(func(o *account.MintKey) { o.Scopes = []string{"videos:read", "usage:read"} }), Refused: fault.InsufficientScope,
		},
		{
			Name: "from a key that expires when idle", Given: []account.Event{opened, idle}, When: order,
			Then: minted(func(k *account.KeyIssued) {
				k.IdleS, k.ExpiresAt = idleS, at(scenario.Now.Add(account.UpgradedKeyIdle))
			}),
		},
		{
			Name: "from a replaced key it takes the last day", Given: []account.Event{opened, idle, replaced}, When: order,
			Then: minted(func(k *account.KeyIssued) { k.ExpiresAt = &replaced.ExpiresAt }),
		},
		{
			Name: "a test key lives seven days", Given: []account.Event{opened, testKey},
			When: with(func(o *account.MintKey) { o.Mode = account.Test }),
			Then: minted(func(k *account.KeyIssued) {
				k.Mode, k.Tier, k.ExpiresAt = account.Test, account.Sandbox, at(scenario.Now.Add(7*24*time.Hour))
			}),
		},
		{
			Name: "a calling key of the other mode", Given: []account.Event{opened, testKey}, When: order, Refused: fault.ResourceNotFound,
		},
		{
			Name: "by the signed-in owner", Given: []account.Event{opened}, When: with(func(o *account.MintKey) { o.By = "" }),
			Then: minted(func(*account.KeyIssued) {}),
		},
	})
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	soon := scenario.Now.Add(time.Hour)
	named := key(func(k *account.KeyIssued) {
		k.Name, k.Scopes, k.Legacy = "camera", []string{"videos:read", "keys:write"}, true
	})
	testKey := key(func(k *account.KeyIssued) { k.Mode, k.ExpiresAt = account.Test, &soon })
	order := account.RotateKey{By: "key_1", Mode: account.Live, KeyID: "key_1", NewKeyID: "key_2", SecretHash: "h", Hint: "x"}
	with := func(change func(*account.RotateKey)) account.RotateKey { o := order; change(&o); return o }
	rotated := func(old account.KeyIssued, oldEnd time.Time, newEnd *time.Time, further ...account.Event) []account.Event {
		old.KeyID, old.SecretHash, old.Hint, old.RotatedFrom, old.Legacy, old.ExpiresAt, old.At = "key_2", "h", "x", "key_1", false, newEnd, scenario.Now
		return append([]account.Event{
			old, account.KeyReplaced{AccountID: "acct_1", KeyID: "key_1", ReplacedBy: "key_2", ExpiresAt: oldEnd, At: scenario.Now},
		}, further...)
	}
	few := key(func(k *account.KeyIssued) { k.KeyID, k.SecretHash, k.Scopes = "key_3", "h3", []string{"keys:write"} })
	aggregate.Run(t, cases{
		{
			Name: "a legacy key gets a new form, with its name and scopes", Given: []account.Event{opened, named}, When: order,
			Then: rotated(named, scenario.Now.Add(24*time.Hour), nil),
		},
		{
			Name: "the old key never ends later than it would have", Given: []account.Event{opened, testKey},
			When: with(func(o *account.RotateKey) { o.Mode = account.Test }),
			Then: rotated(testKey, soon, at(scenario.Now.Add(7*24*time.Hour))),
		},
		{
			Name: "an idle end starts again", Given: []account.Event{opened, idle}, When: order,
			Then: rotated(idle, scenario.Now.Add(24*time.Hour), at(scenario.Now.Add(account.UpgradedKeyIdle))),
		},
		{
			Name: "with the old key revoked", Given: []account.Event{opened, issued},
			When: with(func(o *account.RotateKey) { o.RevokeOld = true }),
			Then: rotated(issued, scenario.Now.Add(24*time.Hour), nil, account.KeyRevoked{AccountID: "acct_1", KeyID: "key_1", At: scenario.Now}),
		},
		{
			Name: "a key cannot rotate one with more scopes", Given: []account.Event{opened, issued, few},
			When: with(func(o *account.RotateKey) { o.By = "key_3" }), Refused: fault.InsufficientScope,
		},
		{
			Name: "a key of the other mode is not found", Given: []account.Event{opened, testKey}, When: order, Refused: fault.ResourceNotFound,
		},
		{
			Name: "an expired key", Given: []account.Event{opened, key(func(k *account.KeyIssued) { k.ExpiresAt = &scenario.Now })},
			When: with(func(o *account.RotateKey) { o.By = "" }), Refused: fault.ResourceConflict,
		},
	})
}

func TestUseKey(t *testing.T) {
	t.Parallel()
	use := account.UseKey{KeyID: "key_1"}
	used := func(ago time.Duration) account.KeyUsed {
		return account.KeyUsed{AccountID: "acct_1", KeyID: "key_1", At: scenario.Now.Add(-ago)}
	}
	aggregate.Run(t, cases{
		{Name: "the first use", Given: []account.Event{opened, idle}, When: use, Then: []account.Event{used(0)}},
		{Name: "an hour after the last", Given: []account.Event{opened, idle, used(time.Hour)}, When: use, Then: []account.Event{used(0)}},
		{Name: "within an hour of the last", Given: []account.Event{opened, idle, used(time.Hour - 1)}, When: use},
		{Name: "of a key without an idle end", Given: []account.Event{opened, issued}, When: use, Then: []account.Event{used(0)}},
		{Name: "of a replaced key", Given: []account.Event{opened, issued, replaced}, When: use, Then: []account.Event{used(0)}},
		{
			Name:  "of a key that has ended",
			Given: []account.Event{opened, key(func(k *account.KeyIssued) { k.IdleS, k.ExpiresAt = idleS, &scenario.Now })}, When: use,
		},
		{Name: "of a restricted account", Given: []account.Event{opened, idle, account.Restricted{AccountID: "acct_1"}}, When: use},
		{Name: "of no key", Given: []account.Event{opened}, When: use, Refused: fault.ResourceNotFound},
	})
	k := aggregate.Fold(opened, idle, used(0)).Keys["key_1"]
	require.Equal(t, scenario.Now.Add(30*24*time.Hour), *k.ExpiresAt, "30 days after the last recorded use")
	// A use within the hour after a recorded one is not recorded, but still prolongs the
	// key.
	last := scenario.Now.Add(time.Hour - 1)
	require.NoError(t, k.Check(last.Add(30*24*time.Hour)), "30 full days after the last use")
	require.True(t, fault.Has(k.Check(scenario.Now.Add(30*24*time.Hour+time.Hour)), fault.KeyExpired))
	k = aggregate.Fold(opened, idle, replaced, used(0)).Keys["key_1"]
	require.Equal(t, replaced.ExpiresAt, *k.ExpiresAt, "a use does not prolong the last day")
}

func TestRestrictionReachesEveryKey(t *testing.T) {
	t.Parallel()
	shut := account.Restricted{AccountID: "acct_1", At: earlier}
	second := key(func(k *account.KeyIssued) { k.KeyID, k.SecretHash = "key_2", "h2" })
	s := aggregate.Fold(opened, issued, shut, second)
	for id, k := range s.Keys {
		require.True(t, fault.Has(k.Check(scenario.Now), fault.AccountRestricted), id)
	}
	s = aggregate.Step(t, s, account.Unrestricted{AccountID: "acct_1"})
	for id, k := range s.Keys {
		require.NoError(t, k.Check(scenario.Now), id)
	}
}

func TestBoundsOfAnAccount(t *testing.T) {
	t.Parallel()
	many := func(n int, at time.Time) []account.Event {
		events := []account.Event{opened}
		for i := range n {
			k := issued
			k.KeyID, k.SecretHash, k.At = fmt.Sprint("key_", i), fmt.Sprint(i), at
			events = append(events, k)
		}
		return events
	}
	revokedAll := func(events []account.Event) []account.Event {
		for i := range len(events) - 1 {
			events = append(events, account.KeyRevoked{KeyID: fmt.Sprint("key_", i), At: earlier})
		}
		return events
	}
	lastWeek := scenario.Now.Add(-7 * 24 * time.Hour)
	mint := account.MintKey{KeyID: "key_new", SecretHash: "new", Mode: account.Live}
	issuedNew := account.KeyIssued{AccountID: "acct_1", KeyID: "key_new", Mode: account.Live, Tier: account.FreeGrant, SecretHash: "new", At: scenario.Now}
	aggregate.Run(t, cases{
		{Name: "the hundredth", Given: many(99, lastWeek), When: mint, Then: []account.Event{issuedNew}},
		{Name: "one more", Given: many(100, lastWeek), When: mint, Refused: fault.ResourceConflict},
		{Name: "ended ones do not count", Given: revokedAll(many(100, lastWeek)), When: mint, Then: []account.Event{issuedNew}},
		{Name: "300 in a day", Given: revokedAll(many(300, earlier)), When: mint, Refused: fault.ResourceConflict},
	})
	_, err := account.Decide(aggregate.Fold(many(100, lastWeek)...), account.RotateKey{
		KeyID: "key_1", NewKeyID: "key_new", SecretHash: "new", Mode: account.Live,
	}, scenario.Now)
	require.NoError(t, err, "rotation is always possible")
}

func TestKeyCheck(t *testing.T) {
	t.Parallel()
	now := scenario.Now
	for name, test := range map[string]struct {
		key  account.Key
		now  time.Time
		want fault.Code
	}{
		"plain":                       {account.Key{}, now, ""},
		"just before expiry":          {account.Key{ExpiresAt: &now}, now.Add(-time.Nanosecond), ""},
		"at expiry":                   {account.Key{ExpiresAt: &now}, now, fault.KeyExpired},
		"by a clock that is behind":   {account.Key{RevokedAt: &now}, now.Add(-time.Second), fault.KeyRevoked},
		"at revocation":               {account.Key{RevokedAt: &now}, now, fault.KeyRevoked},
		"revoked wins over expiry":    {account.Key{RevokedAt: &now, ExpiresAt: &now}, now, fault.KeyRevoked},
		"restricted":                  {account.Key{RestrictedAt: &now}, now, fault.AccountRestricted},
		"expiry wins over restricted": {account.Key{RestrictedAt: &now, ExpiresAt: &now}, now, fault.KeyExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.key.Check(test.now)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, fault.Has(err, test.want), "%v", err)
		})
	}
}

func TestLegacyWindow(t *testing.T) {
	t.Parallel()
	legacy := account.Key{Legacy: true, IssuedAt: earlier}
	var open account.LegacyWindow
	require.NoError(t, open.Check(legacy, scenario.Now.AddDate(100, 0, 0)), "without an announcement there is no end")
	w := account.LegacyWindow{AnnouncedAt: time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)}
	end, known := w.End()
	require.True(t, known)
	require.Equal(t, time.Date(2028, 1, 31, 0, 0, 0, 0, time.UTC), end)
	require.NoError(t, w.Check(legacy, end.Add(-time.Nanosecond)))
	require.True(t, fault.Has(w.Check(legacy, end), fault.InvalidAPIKey))
	require.NoError(t, w.Check(account.Key{}, end), "the window does not end other keys")
}
