package export_test

import (
	"crypto/ed25519"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/handlers/seal"
	"vqa/projections/ledger/export"
	"vqa/projections/ledger/internal/history"
)

// restarted returns the platform with a sealer that has another key.
func (p *platform) restarted(key ed25519.PrivateKey) *platform {
	next := *p
	options := p.sealer.Options
	options.Key = key
	next.sealer = seal.New(options)
	return &next
}

// TestBundleAfterActs rotates, revokes and replaces the key, and begins a second log. A bundle shows each act, and
// the pin of the first key still verifies it until a key is replaced.
func TestBundleAfterActs(t *testing.T) {
	t.Parallel()
	first := newPlatform(t, "a")
	id, by := "acct_1", seal.Operator{Name: "ann", Reason: "a test"}
	buy := func() {
		first.Must(t, id, history.Start, credit.Grant{AccountID: id, TransactionID: first.ID("txn"), Kind: credit.Purchase, Seconds: 5})
	}
	verified := func(p *platform, pin string) (string, int) {
		t.Helper()
		m, _ := p.bundle(t, id, nil)
		_, err := export.CheckBundle(os.DirFS(m.folder(t)), p.Codec)
		require.NoError(t, err)
		return m.verdict(t, "--key", pin)
	}
	buy()
	old := first.pass(t)
	rotated := newPlatform(t, "b").sealer.Key
	_, err := first.sealer.Rotate(t.Context(), rotated, by)
	require.NoError(t, err)
	second := first.restarted(rotated)
	buy()
	second.pass(t)
	out, code := verified(second, first.pin())
	require.Zero(t, code, out)
	require.NotContains(t, out, "NOTE  ")

	_, err = second.sealer.Revoke(t.Context(), first.key(), old.Checkpoint.Size, by)
	require.NoError(t, err)
	out, code = verified(second, first.pin())
	require.Zero(t, code, out)
	require.Contains(t, out, "was revoked beyond size")
	m, _ := second.bundle(t, id, nil)
	signed, err := second.newest.Checkpoint.Sign(first.sealer.Key)
	require.NoError(t, err)
	out, code = m.with("checkpoint.txt", signed).listed(t).verdict(t)
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "is not signed by a key that may sign it")

	_, err = second.sealer.Restart(t.Context(), by)
	require.NoError(t, err)
	buy()
	second.pass(t)
	out, code = verified(second, first.pin())
	require.Zero(t, code, out)
	require.Contains(t, out, "log 2 continues vqa.example/ledger, which had")
	_, err = second.prover.Ledger(t.Context(), id, old.Signed)
	require.True(t, fault.Has(err, fault.ValidationFailed), "%v", err)
	require.ErrorContains(t, err, "A bundle covers one log")
	// A true checkpoint of the log before, by a key that may not sign in this log, is not called a forgery.
	m, _ = second.bundle(t, id, nil)
	out, code = m.drill(t, file(t, "kept", string(old.Signed)), first.pin())
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "you kept one of the log vqa.example/ledger. A bundle covers one log. Run vqa ledger verify --against")
	require.NotContains(t, out, "may sign it")

	third := first.restarted(newPlatform(t, "c").sealer.Key)
	_, err = third.sealer.Replace(t.Context(), by)
	require.NoError(t, err)
	buy()
	third.pass(t)
	out, code = verified(third, first.pin())
	require.Equal(t, 1, code, "the pin refuses a key that replaced a lost one: %s", out)
	m, _ = third.bundle(t, id, nil)
	out, code = m.verdict(t, "--key", first.pin(), "--key", third.pin())
	require.Zero(t, code, out)
	require.Contains(t, out, "replaced a lost key, by ann: a test")
}
