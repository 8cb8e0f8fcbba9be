package command

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
)

// forge is a provider of identities that knows the tokens "1", "2", … of the accounts
// 1, 2, …
type forge struct {
	// during is called while a token is verified.
	during func()
}

func (f *forge) Verify(_ context.Context, token string) (account.Identity, error) {
	if f.during != nil {
		f.during()
	}
	i := account.Identity{Provider: "forge.example"}
	if token == "" {
		return i, fault.New(fault.ForgeVerificationRequired, "")
	}
	if _, err := fmt.Sscan(token, &i.ID); err != nil {
		return i, fault.New(fault.ForgeTokenInvalid, "")
	}
	return i, nil
}

func withForge(d *Dependencies) { d.Identities = &forge{} }

// sandboxes opens n sandboxes, each from its own address.
func (w *world) sandboxes(n int) []Caller {
	w.t.Helper()
	callers := make([]Caller, n)
	for i := range callers {
		key, err := w.IssueSandbox(context.Background(), Caller{RequestID: "req_1"}, fmt.Sprint("address of ", w.IDs.New(id.Request)))
		require.NoError(w.t, err)
		callers[i] = Caller{AccountID: key.AccountID, KeyID: key.KeyID, Tier: account.Sandbox, RequestID: "req_1"}
	}
	return callers
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller, _ := w.sandbox()
	before := len(w.history())
	upgraded, err := w.Upgrade(t.Context(), caller, Upgrade{AddressHash: "address", ForgeToken: "ignored"})
	require.NoError(t, err)
	require.Regexp(t, `^svc_live_`, upgraded.Secret)
	require.Equal(t, account.FreeGrant, upgraded.Tier)
	require.Equal(t, caller.AccountID, upgraded.AccountID)
	require.Equal(t, w.Now().Add(30*24*time.Hour), *upgraded.ExpiresAt)
	require.Equal(t, int64(6000), upgraded.GrantSeconds)
	require.Equal(t, []string{
		"account.key_issued", "account.upgraded", "credit.granted", "upgrade.granted", "upgrade_day.counted",
	}, types(w.history()[before:]))
	require.Equal(t, int64(6000), stateOf(w, credits, caller.AccountID).SignupGrantSeconds)
	require.Equal(t, account.FreeGrant, stateOf(w, accounts, caller.AccountID).Tier)
	require.NoError(t, keyOf(w, caller, caller.KeyID).Check(w.Now()), "the test key stays valid")

	w.requireUnchanged(func() {
		_, err = w.Upgrade(t.Context(), caller, Upgrade{AddressHash: "another"})
		requireFault(t, err, fault.ResourceConflict)
		live := caller
		live.Livemode = true
		_, err = w.Upgrade(t.Context(), live, Upgrade{AddressHash: "another"})
		requireFault(t, err, fault.TestModeOnly)
	})
}

func TestUpgradeWithoutAGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withLimits(func(l *Limits) { l.SignupGrantSeconds = 0 }))
	caller, _ := w.sandbox()
	upgraded, err := w.Upgrade(t.Context(), caller, Upgrade{AddressHash: "address"})
	require.NoError(t, err)
	require.Zero(t, upgraded.GrantSeconds)
	require.Empty(t, stateOf(w, credits, caller.AccountID))
}

func TestUpgradesOfOneAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	callers := w.sandboxes(15)
	errs := together(10, func(i int) error {
		_, err := w.Upgrade(context.Background(), callers[i], Upgrade{AddressHash: "address"})
		return err
	})
	require.Equal(t, map[string]int{"ok": 3, "upgrade_limit_exceeded": 7}, tally(errs))
	w.clock.advance(account.UpgradeWindow - time.Nanosecond)
	w.requireUnchanged(func() {
		_, err := w.Upgrade(t.Context(), callers[10], Upgrade{AddressHash: "address"})
		requireFault(t, err, fault.UpgradeLimitExceeded)
		require.Equal(t, 1, fault.Of(err).RetryAfterS)
	})
	_, err := w.Upgrade(t.Context(), callers[10], Upgrade{AddressHash: "elsewhere"})
	require.NoError(t, err)
	for _, c := range callers[11:] {
		_, err := w.Upgrade(t.Context(), c, Upgrade{})
		require.NoError(t, err, "no address, no cap")
	}
}

func TestUpgradesOfOneDay(t *testing.T) {
	t.Parallel()
	one := newWorld(t, withLimits(func(l *Limits) { l.UpgradesPerDay = 60 }))
	two := newWorld(t, withStore(one.log), withLimits(func(l *Limits) { l.UpgradesPerDay = 60 }))
	callers := one.sandboxes(71)
	errs := together(70, func(i int) error {
		_, err := []*world{one, two}[i%2].Upgrade(context.Background(), callers[i], Upgrade{AddressHash: fmt.Sprint(i)})
		return err
	})
	require.Equal(t, map[string]int{"ok": 60, "upgrade_limit_exceeded": 10}, tally(errs))
	_, err := one.Upgrade(t.Context(), callers[70], Upgrade{AddressHash: "late"})
	requireFault(t, err, fault.UpgradeLimitExceeded)
	require.Equal(t, 12*3600+1, fault.Of(err).RetryAfterS, "it is noon")
	one.clock.advance(12 * time.Hour)
	_, err = one.Upgrade(t.Context(), callers[70], Upgrade{AddressHash: "late"})
	require.NoError(t, err, "a new day")
}

// TestOneGrantOfAnIdentity: 20 simultaneous upgrades of one person on two nodes give one grant.
func TestOneGrantOfAnIdentity(t *testing.T) {
	t.Parallel()
	one := newWorld(t, withForge)
	two := newWorld(t, withForge, withStore(one.log))
	callers := one.sandboxes(21)
	errs := together(20, func(i int) error {
		_, err := []*world{one, two}[i%2].Upgrade(context.Background(), callers[i], Upgrade{AddressHash: fmt.Sprint(i), ForgeToken: "7"})
		return err
	})
	require.Equal(t, map[string]int{"ok": 1, "forge_account_already_used": 19}, tally(errs))
	var granted int64
	for _, c := range callers {
		granted += stateOf(one, credits, c.AccountID).PostedSeconds
	}
	require.Equal(t, int64(6000), granted)
	_, err := one.Upgrade(t.Context(), callers[20], Upgrade{AddressHash: "0", ForgeToken: "8"})
	require.NoError(t, err, "another person, and an address that was refused is not counted")
}

func TestUpgradeAsksForIdentity(t *testing.T) {
	t.Parallel()
	provider := &forge{}
	w := newWorld(t, func(d *Dependencies) { d.Identities = provider }, withLimits(func(l *Limits) { l.UpgradesPerAddress = 1 }))
	callers := w.sandboxes(3)
	w.requireUnchanged(func() {
		_, err := w.Upgrade(t.Context(), callers[0], Upgrade{AddressHash: "address"})
		requireFault(t, err, fault.ForgeVerificationRequired)
		_, err = w.Upgrade(t.Context(), callers[0], Upgrade{AddressHash: "address", ForgeToken: "no number"})
		requireFault(t, err, fault.ForgeTokenInvalid)
	})
	before := len(w.history())
	_, err := w.Upgrade(t.Context(), callers[0], Upgrade{AddressHash: "address", ForgeToken: "7"})
	require.NoError(t, err)
	require.Contains(t, types(w.history()[before:]), "identity.claimed")
	provider.during = func() { t.Error("the identity is verified although the upgrade is impossible") }
	_, err = w.Upgrade(t.Context(), callers[1], Upgrade{AddressHash: "address"})
	requireFault(t, err, fault.UpgradeLimitExceeded)
	_, err = w.Upgrade(t.Context(), callers[0], Upgrade{AddressHash: "elsewhere", ForgeToken: "8"})
	requireFault(t, err, fault.ResourceConflict)

	// A change during the verification counts.
	provider.during = func() {
		provider.during = nil
		_, err := w.Upgrade(context.Background(), callers[2], Upgrade{AddressHash: "third", ForgeToken: "9"})
		require.NoError(t, err)
	}
	_, err = w.Upgrade(t.Context(), callers[2], Upgrade{AddressHash: "fourth", ForgeToken: "10"})
	requireFault(t, err, fault.ResourceConflict)
}
