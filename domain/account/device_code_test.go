package account_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/internal/scenario"
)

var deviceCode = scenario.Aggregate[account.DeviceCode, account.DeviceCodeCommand, account.DeviceCodeEvent]{
	Decide: account.DecideDeviceCode, Evolve: account.EvolveDeviceCode,
}

// requestedAt returns the first event of a code that was requested the given time ago.
func requestedAt(age time.Duration) account.DeviceCodeEvent {
	at := scenario.Now.Add(-age)
	return account.DeviceCodeRequested{Hash: "device", UserCodeHash: "user", RequesterKeyID: "key_1", ExpiresAt: at.Add(account.DeviceCodeLife), At: at}
}

var (
	deviceRequested = requestedAt(time.Minute)
	deviceApproved  = account.DeviceCodeApproved{Hash: "device", AccountID: "acct_1", At: earlier}
	deviceDenied    = account.DeviceCodeDenied{Hash: "device", AccountID: "acct_1", At: earlier}
	deviceConsumed  = account.DeviceCodeConsumed{Hash: "device", AccountID: "acct_1", KeyID: "key_9", At: earlier}
)

func TestDecideDeviceCode(t *testing.T) {
	t.Parallel()
	type events = []account.DeviceCodeEvent
	deviceCode.Run(t, []scenario.Case[account.DeviceCodeCommand, account.DeviceCodeEvent]{
		{
			Name: "a code lives 15 minutes",
			When: account.RequestDeviceCode{Hash: "device", UserCodeHash: "user", RequesterAccountID: "acct_2", RequesterKeyID: "key_2"},
			Then: events{account.DeviceCodeRequested{
				Hash: "device", UserCodeHash: "user", RequesterAccountID: "acct_2", RequesterKeyID: "key_2",
				ExpiresAt: scenario.Now.Add(15 * time.Minute), At: scenario.Now,
			}},
		},
		{
			Name: "the approval names the account", Given: events{deviceRequested}, When: account.ApproveDeviceCode{AccountID: "acct_1"},
			Then: events{account.DeviceCodeApproved{Hash: "device", AccountID: "acct_1", At: scenario.Now}},
		},
		{
			Name: "the key is handed out in the account that approved", Given: events{deviceRequested, deviceApproved},
			When: account.ConsumeDeviceCode{KeyID: "key_9"},
			Then: events{account.DeviceCodeConsumed{Hash: "device", AccountID: "acct_1", KeyID: "key_9", At: scenario.Now}},
		},
		{
			Name:  "an approval is accepted a nanosecond before the end",
			Given: events{requestedAt(account.DeviceCodeLife - time.Nanosecond)}, When: account.ApproveDeviceCode{AccountID: "acct_1"},
			Then: events{account.DeviceCodeApproved{Hash: "device", AccountID: "acct_1", At: scenario.Now}},
		},
		{
			Name: "and too late at the end", Given: events{requestedAt(account.DeviceCodeLife)},
			When: account.ApproveDeviceCode{AccountID: "acct_1"}, Refused: fault.DeviceCodeExpired,
		},
		{
			Name: "an approved code that was not collected expires too", Given: events{requestedAt(account.DeviceCodeLife), deviceApproved},
			When: account.ConsumeDeviceCode{KeyID: "key_9"}, Refused: fault.DeviceCodeExpired,
		},
	})
}

func TestDeviceCodeStateTable(t *testing.T) {
	t.Parallel()
	type events = []account.DeviceCodeEvent
	given := map[string]events{
		"(none)": nil, "pending": {deviceRequested}, "approved": {deviceRequested, deviceApproved},
		"denied": {deviceRequested, deviceDenied}, "consumed": {deviceRequested, deviceApproved, deviceConsumed},
		"expired": {requestedAt(time.Hour)},
	}
	when := map[string]account.DeviceCodeCommand{
		"Request": account.RequestDeviceCode{Hash: "device"}, "Approve": account.ApproveDeviceCode{AccountID: "acct_1"},
		"Approve by another": account.ApproveDeviceCode{AccountID: "acct_2"}, "Deny": account.DenyDeviceCode{AccountID: "acct_1"},
		"Consume": account.ConsumeDeviceCode{KeyID: "key_9"},
	}
	scenario.ReadTable(t, "device code").Check(t,
		[]string{"(none)", "pending", "approved", "denied", "consumed", "expired"},
		[]string{"Request", "Approve", "Approve by another", "Deny", "Consume"},
		func(t *testing.T, state, command string) (string, string) {
			d := deviceCode.Fold(given[state]...)
			events, err := account.DecideDeviceCode(d, when[command], scenario.Now)
			return deviceStateOf(deviceCode.Step(t, d, events...)), scenario.Outcome(events, err)
		})
}

func deviceStateOf(d account.DeviceCode) string {
	decided := d.Status == account.DeviceDenied || d.Status == account.DeviceConsumed
	switch {
	case !d.Exists():
		return "(none)"
	case !decided && !d.Open(scenario.Now):
		return "expired"
	default:
		return string(d.Status)
	}
}

func TestUnknownDeviceCodeCommandAndEventPanic(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _, _ = account.DecideDeviceCode(deviceCode.Fold(deviceRequested), nil, scenario.Now) })
	require.Panics(t, func() { account.EvolveDeviceCode(account.DeviceCode{}, nil) })
}

// TestDeviceCodeLaw checks that a code yields at most one key, only after an approval, only
// during its life, and only for the approving account.
func TestDeviceCodeLaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now, keys := scenario.Now, 0
		d := deviceCode.Step(t, account.DeviceCode{}, requestedAt(0))
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(4*time.Minute)).Draw(t, "pause")))
			by := rapid.SampledFrom([]string{"acct_1", "acct_2"}).Draw(t, "by")
			command := rapid.SampledFrom([]account.DeviceCodeCommand{
				account.ApproveDeviceCode{AccountID: by}, account.DenyDeviceCode{AccountID: by}, account.ConsumeDeviceCode{KeyID: "key_9"},
			}).Draw(t, "command")
			events, err := account.DecideDeviceCode(d, command, now)
			require.False(t, err != nil && len(events) > 0)
			for _, e := range events {
				if consumed, ok := e.(account.DeviceCodeConsumed); ok {
					keys++
					require.Equal(t, account.DeviceApproved, d.Status)
					require.Equal(t, d.AccountID, consumed.AccountID)
				}
				require.True(t, now.Before(d.ExpiresAt))
			}
			d = deviceCode.Step(t, d, events...)
		}
		require.LessOrEqual(t, keys, 1)
	})
}

func TestNewDeviceCode(t *testing.T) {
	t.Parallel()
	code, err := account.NewDeviceCode(entropy())
	require.NoError(t, err)
	require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, code)
	other, err := account.NewDeviceCode(rand.Reader)
	require.NoError(t, err)
	require.NotEqual(t, code, other)
	_, err = account.NewDeviceCode(bytes.NewReader(make([]byte, 31)))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestNewUserCode(t *testing.T) {
	t.Parallel()
	// Bytes from 240 on are skipped. 0 to 19 are the alphabet in order, and 20 to 39 are it
	// again.
	code, err := account.NewUserCode(bytes.NewReader([]byte{240, 0, 255, 1, 2, 19, 20, 39, 239, 220}))
	require.NoError(t, err)
	require.Equal(t, "BCDZBZZB", code)
	require.Equal(t, "BCDZ-BZZB", account.FormatUserCode(code))
	_, err = account.NewUserCode(iotest.ErrReader(iotest.ErrTimeout))
	require.ErrorIs(t, err, iotest.ErrTimeout)
}

// TestUserCodeRoundTrip checks that every way to type a code gives the same code.
func TestUserCodeRoundTrip(t *testing.T) {
	t.Parallel()
	seen := map[rune]bool{}
	for range 200 {
		code, err := account.NewUserCode(rand.Reader)
		require.NoError(t, err)
		shown := account.FormatUserCode(code)
		for _, typed := range []string{code, shown, strings.ToLower(shown), " " + shown + " ", strings.ReplaceAll(shown, "-", " ")} {
			parsed, ok := account.ParseUserCode(typed)
			require.True(t, ok, typed)
			require.Equal(t, code, parsed)
		}
		for _, c := range code {
			seen[c] = true
		}
	}
	require.Len(t, seen, 20, "every character appears")
}

func TestParseUserCodeRefuses(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"", "BCDF", "BCDFGHJKL", "BCDF-GHJA", "BCDF-GHJ1", "BCDFGHJ\u017f", "BCDF_GHJK", "БCDFGHJK", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		_, ok := account.ParseUserCode(typed)
		require.False(t, ok, "%q", typed)
	}
}

// TestNoCodeInAnyEvent checks the events, which the log keeps forever.
func TestNoCodeInAnyEvent(t *testing.T) {
	t.Parallel()
	device, err := account.NewDeviceCode(rand.Reader)
	require.NoError(t, err)
	user, err := account.NewUserCode(rand.Reader)
	require.NoError(t, err)
	events, err := account.DecideDeviceCode(account.DeviceCode{}, account.RequestDeviceCode{
		Hash: account.HashSecret(device), UserCodeHash: account.HashSecret(user),
	}, scenario.Now)
	require.NoError(t, err)
	data, err := json.Marshal(events)
	require.NoError(t, err)
	require.Contains(t, string(data), account.HashSecret(device))
	for _, secret := range []string{device, user, account.FormatUserCode(user)} {
		require.NotContains(t, string(data), secret)
	}
}

// FuzzParseUserCode checks that an accepted code is valid and stays the same when it is
// formatted and parsed again.
func FuzzParseUserCode(f *testing.F) {
	for _, seed := range []string{"BCDF-GHJK", "bcdfghjk", " BCDF GHJK ", "BCDFGHJ", "BCDFGHJ\u017f", "--------"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		code, ok := account.ParseUserCode(typed)
		if !ok {
			require.Empty(t, code)
			return
		}
		require.Regexp(t, `^[BCDFGHJKLMNPQRSTVWXZ]{8}$`, code)
		again, ok := account.ParseUserCode(account.FormatUserCode(code))
		require.True(t, ok)
		require.Equal(t, code, again)
	})
}
