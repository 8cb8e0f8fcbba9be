package main

import (
	"crypto/ed25519"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/domain/fault"
	"vqa/handlers/witness/witnesstest"
)

func TestCheckWitnesses(t *testing.T) {
	t.Parallel()
	one := witnesstest.New("one.example", nil).VerifierKey()
	public := one + "@https://one.example/"
	for name, c := range map[string]config{
		"no key":             {LedgerWitnesses: []string{"https://one.example"}},
		"a word":             {LedgerWitnesses: []string{"witless"}},
		"a wrong hash":       {LedgerWitnesses: []string{strings.Replace(public, "one.example+", "two.example+", 1)}},
		"no URL but a word":  {LedgerWitnesses: []string{one + "@witless"}},
		"a password":         {LedgerWitnesses: []string{one + "@https://ann:hunter2@one.example/"}},
		"no URL":             {LedgerWitnesses: []string{one}},
		"another scheme":     {LedgerWitnesses: []string{one + "@ftp://127.0.0.1:7380"}},
		"twice":              {LedgerWitnesses: []string{public, public}},
		"too many":           {LedgerWitnesses: strings.Split(strings.Repeat(public+",", 9), ",")[:9]},
		"a negative quorum":  {LedgerWitnesses: []string{public}, LedgerWitnessQuorum: -1},
		"a quorum of nobody": {LedgerWitnessQuorum: 1},
	} {
		err := c.checkWitnesses()
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "hunter2", name)
		if len(c.LedgerWitnesses) == 1 && c.LedgerWitnessQuorum == 0 {
			require.Equal(t, 1, strings.Count(err.Error(), redactedWitness(c.LedgerWitnesses[0])), "%s: %v", name, err)
		}
	}
	wrong := config{LedgerWitnesses: []string{"witless"}}.checkWitnesses()
	require.EqualError(t, wrong, `configuration: VQA_LEDGER_WITNESSES is "witless", but it must be name+hash+key@URL of a witness: `+
		"the verifier key is not name+hash+key with a key for ed25519 cosignatures")
	for _, c := range []config{
		{}, {LedgerWitnesses: []string{public}, LedgerWitnessQuorum: 1},
		{LedgerWitnesses: []string{one + "@http://127.0.0.1:7380"}},
	} {
		require.NoError(t, c.checkWitnesses())
	}
}

// TestWitnessesOnTheCommandLine seals with a witness that has TLS, one that has none, and one whose TLS fails.
// All are in a private network, where customers must not reach them.
func TestWitnessesOnTheCommandLine(t *testing.T) {
	b := newToolbench(t)
	var none struct {
		Origin    string         `json:"origin"`
		Key       string         `json:"verifier_key"`
		Witnesses []shownWitness `json:"witnesses"`
	}
	b.json(&none, "ledger", "witnesses", "--json")
	require.Empty(t, none.Witnesses)
	key, err := ledgerKey(b.config)
	require.NoError(t, err)
	public := key.Public().(ed25519.PublicKey)
	plain, secure, hidden := witnesstest.New("plain.example", public), witnesstest.New("secure.example", public), witnesstest.New("hidden.example", public)
	plainServer, secureServer := httptest.NewServer(plain), httptest.NewTLSServer(secure)
	t.Cleanup(plainServer.Close)
	t.Cleanup(secureServer.Close)
	hiddenServer := httptest.NewServer(hidden)
	t.Cleanup(hiddenServer.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secureServer.Certificate().Raw}), 0o600))
	t.Setenv("VQA_EGRESS_CA_FILE", authority)
	settings := []string{plain.VerifierKey() + "@" + plainServer.URL, secure.VerifierKey() + "@" + secureServer.URL + "/", hidden.VerifierKey() + "@" + strings.Replace(hiddenServer.URL, "http:", "https:", 1)}
	t.Setenv("VQA_LEDGER_WITNESSES", strings.Join(settings, ","))
	t.Setenv("VQA_LEDGER_WITNESS_QUORUM", "2")

	printed := b.text("ledger", "checkpoint")
	require.Contains(t, printed, "cosigned by plain.example at ")
	require.Contains(t, printed, "cosigned by secure.example at ")
	require.NotContains(t, printed, "hidden.example")
	require.Zero(t, hidden.Asked())
	c, err := loadConfig()
	require.NoError(t, err)
	customers, err := c.customerClient()
	require.NoError(t, err)
	err = customers.CheckURL(secureServer.URL + "/webhook")
	require.True(t, fault.Has(err, fault.URLForbidden), "%v", err)

	var asked struct {
		Origin    string         `json:"origin"`
		Key       string         `json:"verifier_key"`
		Witnesses []shownWitness `json:"witnesses"`
	}
	b.json(&asked, "ledger", "witnesses", "--json")
	require.Len(t, asked.Witnesses, 3)
	require.True(t, strings.HasPrefix(asked.Key, asked.Origin+"+"))
	require.NotNil(t, asked.Witnesses[0].Cosigned)
	require.NotNil(t, asked.Witnesses[1].Cosigned)
	require.NotEmpty(t, asked.Witnesses[2].Problem)
	verdicts := func() (all []doctor.Verdict) {
		c, err := loadConfig()
		require.NoError(t, err)
		found, err := c.inspectWitnesses(t.Context())
		require.NoError(t, err)
		for _, f := range found {
			all = append(all, f.Verdict)
		}
		return all
	}
	require.Equal(t, []doctor.Verdict{doctor.OK, doctor.OK, doctor.Warning}, verdicts())

	plain.Fail(http.StatusServiceUnavailable)
	shown, _, err := b.run("ledger", "witnesses")
	require.Error(t, err, "the quorum is missed")
	require.Contains(t, shown, "status 503")
	require.Equal(t, []doctor.Verdict{doctor.Warning, doctor.OK, doctor.Warning}, verdicts())
}
