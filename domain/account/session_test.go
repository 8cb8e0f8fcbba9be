package account_test

import (
	"bytes"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/internal/scenario"
)

var (
	session = scenario.Aggregate[account.Session, account.SessionCommand, account.SessionEvent]{
		Decide: account.DecideSession, Evolve: account.EvolveSession,
	}
	signInLink = scenario.Aggregate[account.SignInLink, account.SignInLinkCommand, account.SignInLinkEvent]{
		Decide: account.DecideSignInLink, Evolve: account.EvolveSignInLink,
	}
	passkeys = scenario.Aggregate[account.Passkeys, account.PasskeyCommand, account.PasskeyEvent]{
		Decide: account.DecidePasskeys, Evolve: account.EvolvePasskeys,
	}
)

// openedAt returns the first event of a session that was opened the given time ago.
func openedAt(age time.Duration) account.SessionEvent {
	at := scenario.Now.Add(-age)
	return account.SessionOpened{
		SessionID: "sess_1", AccountID: "acct_1", SecretHash: "hash", Method: account.ByLink, Browser: "Firefox on Linux",
		Network: "192.0.2.0/24", ExpiresAt: at.Add(account.SessionLife), At: at,
	}
}

// usedAt records a use of the session the given time ago.
func usedAt(age time.Duration) account.SessionEvent {
	return account.SessionRefreshed{SessionID: "sess_1", AccountID: "acct_1", At: scenario.Now.Add(-age)}
}

var (
	sessionEnded   = account.SessionEnded{SessionID: "sess_1", AccountID: "acct_1", At: earlier}
	sessionRevoked = account.SessionRevoked{SessionID: "sess_1", AccountID: "acct_1", At: earlier}
)

func TestDecideSession(t *testing.T) {
	t.Parallel()
	type events = []account.SessionEvent
	used := events{account.SessionRefreshed{SessionID: "sess_1", AccountID: "acct_1", At: scenario.Now}}
	nearlyOver := events{openedAt(account.SessionLife - time.Nanosecond), usedAt(time.Hour)}
	session.Run(t, []scenario.Case[account.SessionCommand, account.SessionEvent]{
		{
			Name: "a session lives at most 30 days",
			When: account.OpenSession{SessionID: "sess_1", AccountID: "acct_1", SecretHash: "hash", Method: account.ByPasskey, Browser: "b", Network: "n"},
			Then: events{account.SessionOpened{
				SessionID: "sess_1", AccountID: "acct_1", SecretHash: "hash", Method: account.ByPasskey, Browser: "b", Network: "n",
				ExpiresAt: scenario.Now.Add(30 * 24 * time.Hour), At: scenario.Now,
			}},
		},
		{Name: "a use within 15 minutes is not recorded", Given: events{openedAt(15*time.Minute - 1)}, When: account.RefreshSession{}},
		{Name: "a later use is", Given: events{openedAt(15 * time.Minute)}, When: account.RefreshSession{}, Then: used},
		{Name: "a session is refreshed just before it is idle", Given: events{openedAt(account.SessionIdle - 1)}, When: account.RefreshSession{}, Then: used},
		{Name: "an idle session stays ended", Given: events{openedAt(account.SessionIdle)}, When: account.RefreshSession{}},
		{Name: "uses delay the end", Given: events{openedAt(account.SessionIdle), usedAt(time.Hour)}, When: account.RefreshSession{}, Then: used},
		{Name: "until 30 days are over", Given: nearlyOver, When: account.RefreshSession{}, Then: used},
		{Name: "and not longer", Given: events{openedAt(account.SessionLife), usedAt(time.Hour)}, When: account.RefreshSession{}},
		{
			Name: "an operator revokes the session of any account", Given: events{openedAt(time.Hour)}, When: account.RevokeSession{},
			Then: events{account.SessionRevoked{SessionID: "sess_1", AccountID: "acct_1", At: scenario.Now}},
		},
	})
}

func TestSessionStateTable(t *testing.T) {
	t.Parallel()
	type events = []account.SessionEvent
	given := map[string]events{
		"(none)": nil, "active": {openedAt(time.Hour)}, "idle": {openedAt(account.SessionIdle)},
		"ended": {openedAt(time.Hour), sessionEnded}, "revoked": {openedAt(time.Hour), sessionRevoked},
	}
	when := map[string]account.SessionCommand{
		"Open": account.OpenSession{SessionID: "sess_1", AccountID: "acct_1"}, "Refresh": account.RefreshSession{}, "End": account.EndSession{},
		"Revoke": account.RevokeSession{AccountID: "acct_1"}, "Revoke by another": account.RevokeSession{AccountID: "acct_2"},
	}
	scenario.ReadTable(t, "session").Check(t,
		[]string{"(none)", "active", "ended", "revoked", "idle"}, []string{"Open", "Refresh", "End", "Revoke", "Revoke by another"},
		func(t *testing.T, state, command string) (string, string) {
			s := session.Fold(given[state]...)
			events, err := account.DecideSession(s, when[command], scenario.Now)
			return sessionStateOf(session.Step(t, s, events...)), scenario.Outcome(events, err)
		})
}

func sessionStateOf(s account.Session) string {
	switch {
	case !s.Exists():
		return "(none)"
	case s.Revoked:
		return "revoked"
	case s.EndedAt != nil:
		return "ended"
	case !s.Active(scenario.Now):
		return "idle"
	default:
		return "active"
	}
}

func TestSignInLinkStateTable(t *testing.T) {
	t.Parallel()
	type events = []account.SignInLinkEvent
	createdAt := func(age time.Duration) account.SignInLinkEvent {
		at := scenario.Now.Add(-age)
		return account.SignInLinkCreated{Hash: "link", ExpiresAt: at.Add(account.SignInLinkLife), At: at}
	}
	almost := account.SignInLinkLife - 1
	given := map[string]events{
		"(none)": nil, "valid": {createdAt(almost)}, "expired": {createdAt(account.SignInLinkLife)},
		"used": {createdAt(almost), account.SignInLinkUsed{Hash: "link", SessionID: "sess_1", At: earlier}},
	}
	when := map[string]account.SignInLinkCommand{"Create": account.CreateSignInLink{Hash: "link"}, "Use": account.UseSignInLink{SessionID: "sess_1"}}
	scenario.ReadTable(t, "link").Check(t, []string{"(none)", "valid", "used", "expired"}, []string{"Create", "Use"},
		func(t *testing.T, state, command string) (string, string) {
			l := signInLink.Fold(given[state]...)
			events, err := account.DecideSignInLink(l, when[command], scenario.Now)
			l = signInLink.Step(t, l, events...)
			switch {
			case l.Hash == "":
				state = "(none)"
			case l.UsedAt != nil:
				state = "used"
			case !scenario.Now.Before(l.ExpiresAt):
				state = "expired"
			default:
				state = "valid"
			}
			return state, scenario.Outcome(events, err)
		})
}

func TestPasskeyStateTable(t *testing.T) {
	t.Parallel()
	type events = []account.PasskeyEvent
	given := map[string]events{"(none)": nil, "known": {passkey(1, 7)}}
	when := map[string]account.PasskeyCommand{
		"Register": account.RegisterPasskey{AccountID: "acct_1", PasskeyID: "passkey_1", CredentialID: "credential 1"},
		"Use":      account.UsePasskey{AccountID: "acct_1", PasskeyID: "passkey_1", SignCount: 8}, "Use of a copy": account.UsePasskey{PasskeyID: "passkey_1", SignCount: 7},
		"Remove": account.RemovePasskey{AccountID: "acct_1", PasskeyID: "passkey_1"},
	}
	scenario.ReadTable(t, "passkey").Check(t, []string{"(none)", "known"}, []string{"Register", "Use", "Use of a copy", "Remove"},
		func(t *testing.T, state, command string) (string, string) {
			p := passkeys.Fold(given[state]...)
			events, err := account.DecidePasskeys(p, when[command], scenario.Now)
			if _, known := passkeys.Step(t, p, events...).Passkey("passkey_1"); known {
				return "known", scenario.Outcome(events, err)
			}
			return "(none)", scenario.Outcome(events, err)
		})
}

func passkey(n, count int64) account.PasskeyRegistered {
	digit := string(rune('0' + n))
	return account.PasskeyRegistered{
		AccountID: "acct_1", PasskeyID: "passkey_" + digit, CredentialID: "credential " + digit, PublicKey: "key", SignCount: count, Browser: "b", At: earlier,
	}
}

func TestPasskeyLimits(t *testing.T) {
	t.Parallel()
	var full []account.PasskeyEvent
	for n := range int64(account.MaxPasskeys) {
		full = append(full, passkey(n, 0))
	}
	use := account.UsePasskey{AccountID: "acct_1", PasskeyID: "passkey_1", SessionID: "sess_1"}
	passkeys.Run(t, []scenario.Case[account.PasskeyCommand, account.PasskeyEvent]{
		{Name: "an account has ten passkeys", Given: full, When: account.RegisterPasskey{PasskeyID: "passkey_x", CredentialID: "x"}, Refused: fault.ResourceConflict},
		{
			Name: "a passkey without a counter stays at 0", Given: full, When: use,
			Then: []account.PasskeyEvent{account.PasskeyUsed{AccountID: "acct_1", PasskeyID: "passkey_1", SessionID: "sess_1", At: scenario.Now}},
		},
		{Name: "a counter does not return to 0", Given: []account.PasskeyEvent{passkey(1, 3)}, When: use, Refused: fault.InvalidAPIKey},
	})
}

func TestSessionSecretsAndIDs(t *testing.T) {
	t.Parallel()
	secret, err := account.NewSessionSecret(bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	require.NoError(t, err)
	require.Len(t, secret, 43, "32 bytes")
	_, err = account.NewSessionSecret(iotest.ErrReader(iotest.ErrTimeout))
	require.Error(t, err)
	one := account.SessionIDFor("a")
	require.True(t, id.Valid(id.Session, one), one)
	require.Equal(t, one, account.SessionIDFor("a"))
	require.NotEqual(t, one, account.SessionIDFor("b"))
}

func TestUnknownSessionCommandsAndEventsPanic(t *testing.T) {
	t.Parallel()
	live := session.Fold(openedAt(time.Hour))
	require.Panics(t, func() { _, _ = account.DecideSession(live, nil, scenario.Now) })
	require.Panics(t, func() { account.EvolveSession(live, nil) })
	require.Panics(t, func() { _, _ = account.DecideSignInLink(account.SignInLink{}, nil, scenario.Now) })
	require.Panics(t, func() { account.EvolveSignInLink(account.SignInLink{}, nil) })
	require.Panics(t, func() { _, _ = account.DecidePasskeys(account.Passkeys{}, nil, scenario.Now) })
	require.Panics(t, func() { account.EvolvePasskeys(account.Passkeys{}, nil) })
}
