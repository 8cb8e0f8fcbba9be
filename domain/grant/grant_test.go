package grant_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/domain/internal/scenario"
)

var aggregate = scenario.Aggregate[grant.State, grant.Command, grant.Event]{Decide: grant.Decide, Evolve: grant.Evolve}

type events = []grant.Event

const mcp = "https://video.example/mcp"

var (
	// earlier is after the grace of a rotation and within the life of an access token.
	earlier = scenario.Now.Add(-2 * time.Minute)
	terms   = grant.Terms{
		GrantID: "grant_1", AccountID: "acct_1", Livemode: true, ClientID: "client_1", ClientName: "Claude Code",
		RedirectURI: "http://localhost:1/callback", Resource: mcp, Scope: "mcp", LimitSeconds: 600,
	}
	approve  = grant.Approve{Terms: terms, CodeHash: "code", Challenge: "challenge"}
	approved = approvedAt(scenario.Now.Add(-30 * time.Second))
	denied   = grant.Denied{
		GrantID: "grant_1", AccountID: "acct_1", ClientID: "client_1", ClientName: "Claude Code", RedirectURI: "http://localhost:1/callback", Livemode: true, At: earlier,
	}
	redeemed  = redeemedAt(earlier)
	refreshed = refreshedAt(earlier, "refresh", "2")
	revoked   = grant.Revoked{GrantID: "grant_1", AccountID: "acct_1", Reason: grant.ByPerson, At: earlier}
)

func approvedAt(at time.Time) grant.Approved {
	return grant.Approved{
		GrantID: "grant_1", AccountID: "acct_1", Livemode: true, ClientID: "client_1", ClientName: "Claude Code", RedirectURI: "http://localhost:1/callback",
		Resource: mcp, Scope: "mcp", LimitSeconds: 600, Code: grant.Token{Hash: "code", ExpiresAt: at.Add(grant.CodeLife)}, Challenge: "challenge",
		ExpiresAt: at.Add(grant.Life), At: at,
	}
}

func redeemedAt(at time.Time) grant.Redeemed {
	return grant.Redeemed{
		GrantID: "grant_1", AccountID: "acct_1", FamilyHash: "family", Access: grant.Token{Hash: "access", ExpiresAt: at.Add(grant.AccessLife)},
		Refresh: grant.Token{Hash: "refresh", ExpiresAt: at.Add(grant.RefreshIdle)}, At: at,
	}
}

// refreshedAt is the exchange of a refresh token for the tokens "access n" and "refresh n".
func refreshedAt(at time.Time, used, n string) grant.Refreshed {
	return grant.Refreshed{
		GrantID: "grant_1", AccountID: "acct_1", UsedHash: used, Access: grant.Token{Hash: "access " + n, ExpiresAt: at.Add(grant.AccessLife)},
		Refresh: grant.Token{Hash: "refresh " + n, ExpiresAt: at.Add(grant.RefreshIdle)}, At: at,
	}
}

func redeem(client string) grant.Redeem {
	return grant.Redeem{ClientID: client, CodeHash: "code", FamilyHash: "family", Tokens: grant.Tokens{Access: "access", Refresh: "refresh"}}
}

func refresh(client, hash string) grant.Refresh {
	return grant.Refresh{ClientID: client, RefreshHash: hash, FamilyHash: "family", Tokens: grant.Tokens{Access: "access 3", Refresh: "refresh 3"}}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	aggregate.Run(t, []scenario.Case[grant.Command, grant.Event]{
		{Name: "approve", When: approve, Then: events{approvedAt(scenario.Now)}},
		{Name: "a limit below 0", When: grant.Approve{Terms: grant.Terms{LimitSeconds: -1}}, Refused: fault.ValidationFailed},
		{Name: "a limit too large", When: grant.Approve{Terms: grant.Terms{LimitSeconds: grant.MaxLimitSeconds + 1}}, Refused: fault.ValidationFailed},
		{Name: "redeem", Given: events{approved}, When: redeem("client_1"), Then: events{redeemedAt(scenario.Now)}},
		{Name: "redeem too late", Given: events{approvedAt(earlier)}, When: redeem("client_1"), Refused: fault.TokenExpired},
		{Name: "redeem another code", Given: events{approved}, When: grant.Redeem{ClientID: "client_1", CodeHash: "x"}, Refused: fault.InvalidAPIKey},
		{Name: "redeem no code", Given: events{approved}, When: grant.Redeem{ClientID: "client_1"}, Refused: fault.InvalidAPIKey},
		{Name: "redeem twice", Given: events{approved, redeemed}, When: redeem("client_1"), Then: events{revokedFor(grant.CodeReplayed)}},
		{Name: "refresh", Given: events{approved, redeemed}, When: refresh("client_1", "refresh"), Then: events{refreshedAt(scenario.Now, "refresh", "3")}},
		{
			Name: "refresh with a token rotated 60 s ago", Given: events{approved, redeemed, refreshedAt(scenario.Now.Add(-grant.RotationGrace), "refresh", "2")},
			When: refresh("client_1", "refresh"), Then: events{refreshedAt(scenario.Now, "refresh", "3")},
		},
		{
			Name: "refresh with a token rotated 61 s ago", Given: events{approved, redeemed, refreshedAt(scenario.Now.Add(-grant.RotationGrace-time.Second), "refresh", "2")},
			When: refresh("client_1", "refresh"), Then: events{revokedFor(grant.RefreshReused)},
		},
		{
			Name: "a guessed token changes nothing", Given: events{approved, redeemed},
			When: grant.Refresh{ClientID: "client_1", RefreshHash: "x", FamilyHash: "x"}, Refused: fault.InvalidAPIKey,
		},
		{Name: "an idle token", Given: events{approvedAt(scenario.Now.Add(-31 * 24 * time.Hour)), redeemedAt(scenario.Now.Add(-31 * 24 * time.Hour))}, When: refresh("client_1", "refresh"), Refused: fault.TokenExpired},
		{Name: "after the end of the grant", Given: events{approvedAt(scenario.Now.Add(-grant.Life)), redeemedAt(earlier)}, When: refresh("client_1", "refresh"), Refused: fault.TokenExpired},
		{Name: "revoke by another account", Given: events{approved}, When: grant.Revoke{AccountID: "acct_2", Reason: grant.ByPerson}, Refused: fault.ResourceNotFound},
		{Name: "revoke by another client", Given: events{approved}, When: grant.Revoke{ClientID: "client_2", Reason: grant.ByClient}, Refused: fault.ResourceNotFound},
		{Name: "revoke", Given: events{approved}, When: grant.Revoke{AccountID: "acct_1", Reason: grant.ByPerson}, Then: events{revokedFor(grant.ByPerson)}},
	})
}

func revokedFor(reason grant.Reason) grant.Revoked {
	return grant.Revoked{GrantID: "grant_1", AccountID: "acct_1", Reason: reason, At: scenario.Now}
}

func TestStateTable(t *testing.T) {
	t.Parallel()
	given := map[string]events{
		"(none)": nil, "approved": {approved}, "active": {approved, redeemed, refreshed}, "denied": {denied}, "revoked": {approved, redeemed, refreshed, revoked},
	}
	commands := map[string]grant.Command{
		"Approve": approve, "Deny": grant.Deny{Terms: terms}, "Redeem": redeem("client_1"), "Redeem by another": redeem("client_2"),
		"Refresh": refresh("client_1", "refresh 2"), "Refresh by another": refresh("client_2", "refresh 2"), "Refresh with old": refresh("client_1", "refresh"),
		"Revoke": grant.Revoke{Reason: grant.ByOperator},
	}
	stateOf := func(s grant.State) string {
		if !s.Exists() {
			return "(none)"
		}
		return string(s.Status)
	}
	scenario.ReadTable(t, "grant").Check(t, []string{"(none)", "approved", "active", "denied", "revoked"},
		[]string{"Approve", "Deny", "Redeem", "Redeem by another", "Refresh", "Refresh by another", "Refresh with old", "Revoke"},
		func(t *testing.T, state, command string) (string, string) {
			s := aggregate.Fold(given[state]...)
			require.Equal(t, state, stateOf(s))
			decided, err := grant.Decide(s, commands[command], scenario.Now)
			return stateOf(aggregate.Step(t, s, decided...)), scenario.Outcome(decided, err)
		})
}

func TestClientTable(t *testing.T) {
	t.Parallel()
	clients := scenario.Aggregate[grant.Client, grant.ClientCommand, grant.ClientEvent]{Decide: grant.DecideClient, Evolve: grant.EvolveClient}
	until := scenario.Now.Add(grant.Life)
	given := map[string][]grant.ClientEvent{"(none)": nil, "registered": {registeredAt(earlier)}, "kept": {registeredAt(earlier), grant.Kept{ClientID: "client_1", ExpiresAt: until, At: earlier}}}
	commands := map[string]grant.ClientCommand{"Register": grant.Register{ClientID: "client_1", RedirectURIs: []string{"http://localhost/x"}}, "Keep": grant.Keep{Until: until}}
	stateOf := func(c grant.Client) string {
		switch {
		case !c.Exists():
			return "(none)"
		case c.Approved:
			return "kept"
		}
		return "registered"
	}
	scenario.ReadTable(t, "client").Check(t, []string{"(none)", "registered", "kept"}, []string{"Register", "Keep"}, func(t *testing.T, state, command string) (string, string) {
		s := clients.Fold(given[state]...)
		require.Equal(t, state, stateOf(s))
		decided, err := grant.DecideClient(s, commands[command], scenario.Now)
		return stateOf(clients.Step(t, s, decided...)), scenario.Outcome(decided, err)
	})
	old := clients.Fold(registeredAt(scenario.Now.Add(-grant.UnusedClientLife)))
	_, err := grant.DecideClient(old, grant.Keep{Until: until}, scenario.Now)
	require.True(t, fault.Has(err, fault.ResourceNotFound), "an expired client is unknown")
	require.Panics(t, func() { _, _ = grant.DecideClient(old, nil, scenario.Now) })
	require.Panics(t, func() { grant.EvolveClient(old, nil) })
}

func registeredAt(at time.Time) grant.Registered {
	return grant.Registered{ClientID: "client_1", RedirectURIs: []string{"http://localhost/x"}, ExpiresAt: at.Add(grant.UnusedClientLife), At: at}
}

func TestAccessTokens(t *testing.T) {
	t.Parallel()
	s := aggregate.Fold(approved, redeemed, refreshed)
	require.NoError(t, s.Check("access", mcp, scenario.Now))
	require.NoError(t, s.Check("access 2", mcp, scenario.Now))
	for name, tt := range map[string]struct {
		state          grant.State
		hash, resource string
		at             time.Time
		code           fault.Code
	}{
		"another resource":   {s, "access", "https://other.example/mcp", scenario.Now, fault.InvalidAPIKey},
		"an unknown token":   {s, "x", mcp, scenario.Now, fault.InvalidAPIKey},
		"no token":           {s, "", mcp, scenario.Now, fault.InvalidAPIKey},
		"an expired token":   {s, "access", mcp, earlier.Add(grant.AccessLife), fault.TokenExpired},
		"a code is no token": {aggregate.Fold(approved), "code", mcp, scenario.Now, fault.InvalidAPIKey},
		"a revoked grant":    {aggregate.Fold(approved, redeemed, revoked), "access", mcp, scenario.Now, fault.KeyRevoked},
	} {
		require.True(t, fault.Has(tt.state.Check(tt.hash, tt.resource, tt.at), tt.code), name)
	}
}

// TestParallelSessions: 30 sessions of a program exchange the token that they share, and an hour later each its own,
// the newest first.
func TestParallelSessions(t *testing.T) {
	t.Parallel()
	const sessions = 30
	s := aggregate.Fold(approved, redeemed)
	exchange := func(used, issued string, now time.Time) {
		c := refresh("client_1", used)
		c.Tokens = grant.Tokens{Access: "access " + issued, Refresh: issued}
		decided, err := grant.Decide(s, c, now)
		require.NoError(t, err)
		require.Equal(t, "grant.refreshed", decided[0].EventType(), "%s revoked the grant", used)
		s = grant.Evolve(s, decided[0])
	}
	for i := range sessions {
		exchange("refresh", fmt.Sprint("own ", i), scenario.Now)
	}
	for i := range sessions {
		i = sessions - 1 - i
		exchange(fmt.Sprint("own ", i), fmt.Sprint("next ", i), scenario.Now.Add(time.Hour))
	}
	// One session that exchanges its token again and again drops no token of another.
	used := "next 0"
	for i := range 200 {
		issued := fmt.Sprint("flood ", i)
		exchange(used, issued, scenario.Now.Add(2*time.Hour))
		used = issued
	}
	exchange("next 1", "last", scenario.Now.Add(2*time.Hour))
	require.LessOrEqual(t, len(s.Refresh), 64)
}

func TestSecretsNameTheirGrant(t *testing.T) {
	t.Parallel()
	const id = "grant_01M7XSPCTGAYRRRBPGJ93TRCSN"
	entropy := bytes.NewReader(bytes.Repeat([]byte{0xff}, 1000))
	for _, kind := range []grant.Kind{grant.AccessToken, grant.CodeSecret} {
		secret, err := grant.NewSecret(kind, id, entropy)
		require.NoError(t, err)
		of, ok := grant.GrantOf(kind, secret)
		require.True(t, ok)
		require.Equal(t, id, of)
		_, ok = grant.GrantOf(grant.RefreshSecret, secret)
		require.False(t, ok, "a secret of another kind")
	}
	family, err := grant.NewFamily(entropy)
	require.NoError(t, err)
	token, err := grant.NewRefresh(id, family, entropy)
	require.NoError(t, err)
	require.Equal(t, family, grant.Family(token))
	require.Empty(t, grant.Family("svcrt_short"))
	_, ok := grant.GrantOf(grant.AccessToken, "svcat_"+strings.Repeat("A", 26))
	require.False(t, ok, "an id alone is no secret")
	_, err = grant.NewSecret(grant.AccessToken, id, bytes.NewReader(nil))
	require.Error(t, err)
}

// TestLaws runs random commands with real and wrong secrets. A revoked grant stays revoked, at most 16
// refresh tokens work, and a token that was exchanged more than 60 s ago never gives another.
func TestLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s grant.State
		now := scenario.Now
		exchanged := map[string]time.Time{}
		issued := []string{"none"}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			client := rapid.SampledFrom([]string{"client_1", "client_1", "client_1", "client_2"}).Draw(t, "client")
			used := rapid.SampledFrom(issued).Draw(t, "token")
			next := "r" + string(rune('A'+i))
			c := rapid.SampledFrom([]grant.Command{
				approve, grant.Redeem{ClientID: client, CodeHash: "code", FamilyHash: "family", Tokens: grant.Tokens{Access: "a", Refresh: next}},
				grant.Refresh{ClientID: client, RefreshHash: used, FamilyHash: "family", Tokens: grant.Tokens{Access: "a", Refresh: next}},
			}).Draw(t, "command")
			decided, err := grant.Decide(s, c, now)
			require.False(t, err != nil && len(decided) > 0, "a refused command leaves nothing behind")
			wasRevoked := s.Status == grant.StatusRevoked
			s = aggregate.Step(t, s, decided...)
			require.True(t, !wasRevoked || s.Status == grant.StatusRevoked)
			require.LessOrEqual(t, len(s.Refresh), 16)
			for _, e := range decided {
				switch e := e.(type) {
				case grant.Redeemed:
					issued = append(issued, e.Refresh.Hash)
				case grant.Refreshed:
					if first, again := exchanged[e.UsedHash]; again {
						require.LessOrEqual(t, now.Sub(first), grant.RotationGrace)
					} else {
						exchanged[e.UsedHash] = now
					}
					require.Contains(t, issued, e.UsedHash)
					issued = append(issued, e.Refresh.Hash)
				}
			}
		}
	})
	require.Panics(t, func() { _, _ = grant.Decide(aggregate.Fold(approved), nil, scenario.Now) })
	require.Panics(t, func() { grant.Evolve(grant.State{}, nil) })
}
