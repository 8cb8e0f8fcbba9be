package account_test

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
)

// entropy returns 32 different bytes.
func entropy() io.Reader {
	raw := make([]byte, 32)
	for i := range raw {
		raw[i] = byte(i * 7)
	}
	return bytes.NewReader(raw)
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	for mode, form := range map[account.Mode]string{
		account.Live: `^svc_live_[A-Za-z0-9_-]{43}$`, account.Test: `^svc_test_[A-Za-z0-9_-]{43}$`,
	} {
		secret, err := account.NewSecret(mode, entropy())
		require.NoError(t, err)
		require.Regexp(t, regexp.MustCompile(form), secret)
		require.True(t, account.LooksLikeKey(secret))

		again, err := account.NewSecret(mode, entropy())
		require.NoError(t, err)
		require.Equal(t, secret, again, "the same entropy gives the same secret")
		other, err := account.NewSecret(mode, bytes.NewReader(make([]byte, 32)))
		require.NoError(t, err)
		require.NotEqual(t, secret, other)
	}
}

func TestNewSecretNeedsAllItsEntropy(t *testing.T) {
	t.Parallel()
	_, err := account.NewSecret(account.Live, bytes.NewReader(make([]byte, 31)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = account.NewSecret(account.Live, iotest.ErrReader(iotest.ErrTimeout))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

func TestHashSecret(t *testing.T) {
	t.Parallel()
	// The SHA-256 of "abc" is the example of FIPS 180-2.
	require.Equal(t, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", account.HashSecret("abc"))
}

func TestHint(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{"svc_live_abcdef": "cdef", "abcd": "abcd", "ab": "ab", "": ""} {
		require.Equal(t, want, account.Hint(secret))
	}
}

func TestLooksLikeKey(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"svc_live_x": true, "svc_test_x": true, "svcct_x": false, "whsec_x": false, "SVC_LIVE_x": false,
		" svc_live_x": false, "": false, "pk_x": true, "pkx": false,
	} {
		require.Equal(t, want, account.LooksLikeKey(s), "%q", s)
	}
}

func TestCheckLegacySecret(t *testing.T) {
	t.Parallel()
	long := "pk_" + strings.Repeat("a", 17)
	for secret, want := range map[string]fault.ViolationCode{
		long: "", long[:19]: fault.Length, "pk_" + strings.Repeat("a", 197): "", "pk_" + strings.Repeat("a", 198): fault.Length,
		"svc_live_" + long: fault.Format, "": fault.Format, long + " ": fault.Format, long + "\n": fault.Format, long + "é": fault.Format,
	} {
		err := account.CheckLegacySecret(secret)
		if want == "" {
			require.NoError(t, err, "%q", secret)
			continue
		}
		require.True(t, fault.Has(err, fault.ValidationFailed), "%q: %v", secret, err)
		require.Equal(t, want, fault.Of(err).Violations[0].Code, "%q", secret)
		require.NotContains(t, err.Error(), "aaaaa", "the message does not contain the secret")
	}
}
