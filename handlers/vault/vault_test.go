package vault_test

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/webhook"
	"vqa/handlers/vault"
)

var (
	oldKey = bytes.Repeat([]byte{1}, 32)
	newKey = bytes.Repeat([]byte{2}, 32)
	secret = bytes.Repeat([]byte{3}, 32)
)

func open(t *testing.T, newest []byte, older ...[]byte) *vault.Vault {
	t.Helper()
	v, err := vault.New(newest, older...)
	require.NoError(t, err)
	return v
}

func TestSecretsSurviveAnotherKey(t *testing.T) {
	t.Parallel()
	sealed := open(t, oldKey).Seal(secret, "we_1")
	both := open(t, newKey, oldKey)
	plain, err := both.Open(sealed, "we_1")
	require.NoError(t, err)
	require.Equal(t, secret, plain)

	again := both.Seal(secret, "we_1")
	require.NotEqual(t, sealed.SealKeyID, again.SealKeyID, "the newest key encrypts")
	plain, err = open(t, newKey).Open(again, "we_1")
	require.NoError(t, err)
	require.Equal(t, secret, plain)

	_, err = open(t, newKey).Open(sealed, "we_1")
	var unknown *vault.UnknownKeyError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, sealed.SealKeyID, unknown.KeyID)
}

func TestAnAlteredSecretIsRefused(t *testing.T) {
	t.Parallel()
	v := open(t, newKey)
	sealed := v.Seal(secret, "we_1")
	_, err := v.Open(sealed, "we_2")
	require.Error(t, err, "a secret belongs to one endpoint")
	raw, err := base64.StdEncoding.DecodeString(sealed.Sealed)
	require.NoError(t, err)
	for i := range raw {
		altered := bytes.Clone(raw)
		altered[i] ^= 1
		_, err := v.Open(webhook.Secret{Sealed: base64.StdEncoding.EncodeToString(altered), SealKeyID: sealed.SealKeyID}, "we_1")
		require.Error(t, err, "byte %d", i)
	}
	for _, text := range []string{"", "!", "AAAA"} {
		_, err := v.Open(webhook.Secret{Sealed: text, SealKeyID: sealed.SealKeyID}, "we_1")
		require.Error(t, err, text)
	}
}

func TestSealedTextHidesTheSecret(t *testing.T) {
	t.Parallel()
	v := open(t, newKey)
	one, two := v.Seal(secret, "we_1"), v.Seal(secret, "we_1")
	require.NotEqual(t, one.Sealed, two.Sealed, "each has a nonce of its own")
	raw, err := base64.StdEncoding.DecodeString(one.Sealed)
	require.NoError(t, err)
	require.False(t, bytes.Contains(raw, secret[:16]))
	require.NotContains(t, one.SealKeyID, "02020202", "the id of a key does not contain it")
}

func TestNewRefusesAWrongKey(t *testing.T) {
	t.Parallel()
	_, err := vault.New([]byte("short"))
	require.Error(t, err)
	_, err = vault.New(newKey, nil)
	require.Error(t, err)
}
