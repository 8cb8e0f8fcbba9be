package httpapi_test

import (
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/handlers/httpapi"
)

// forgedRows collects the rows that differ from their events.
type forgedRows struct {
	mu   sync.Mutex
	rows []string
}

func (f *forgedRows) note(row *eventstore.ForgedError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, row.Error())
}

// take returns the rows since the last call.
func (f *forgedRows) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := f.rows
	f.rows = nil
	return rows
}

// watchForged starts a world that collects forged rows, with people who sign in.
func watchForged(t *testing.T) (*world, *forgedRows) {
	t.Helper()
	f := &forgedRows{}
	return openWithSignIn(t, func(o *httpapi.Options) { o.Forged = f.note }), f
}

// sql changes rows, as the owner of the database can.
func (w *world) sql(statement string, args ...any) {
	w.t.Helper()
	tag, err := w.pool.Exec(w.t.Context(), statement, args...)
	require.NoError(w.t, err, statement)
	require.Positive(w.t, tag.RowsAffected(), statement)
}

const (
	keyRow   = `insert into api_keys (id, account_id, livemode, secret_hash, created_at, doc) select `
	ofKeyRow = ` from api_keys where id = $1`
)

// TestForgedKeyRows: a row of api_keys gives no rights that the events of its account do not give.
func TestForgedKeyRows(t *testing.T) {
	t.Parallel()
	w, forged := watchForged(t)
	c := w.customer(500)
	const secret = "svc_live_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A_forgedforgedforgedforged"
	hash := account.HashSecret(secret)
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, "/v1/credits", "").StatusCode)
	require.Empty(t, forged.take())

	// A key that was never minted, for an account with credits.
	w.sql(keyRow+`'key_forged', account_id, livemode, $2, created_at, jsonb_set(jsonb_set(doc::jsonb, '{id}', '"key_forged"'), '{secret_hash}', to_jsonb($2::text))`+ofKeyRow, c.key.KeyID, hash)
	for range 2 {
		w.refused(w.as(secret, http.MethodGet, "/v1/credits", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	}
	rows := forged.take()
	require.Len(t, rows, 1, "it is named once a minute")
	require.Contains(t, rows[0], "stream account/"+c.key.AccountID+": the row key_forged of the table api_keys was not written by the service")
	w.sql("delete from api_keys where id = 'key_forged'")

	// The secret of the attacker in the row of a real key, beside the real row.
	w.sql(keyRow+`'key_copy', account_id, livemode, $2, created_at, jsonb_set(doc::jsonb, '{secret_hash}', to_jsonb($2::text))`+ofKeyRow, c.key.KeyID, hash)
	w.refused(w.as(secret, http.MethodGet, "/v1/credits", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	require.Len(t, forged.take(), 1)
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, "/v1/credits", "").StatusCode, "the real key works")
	w.sql("delete from api_keys where id = 'key_copy'")

	// More scopes: the real ones count.
	narrow := c.limited("videos:read")
	w.refused(narrow.do(http.MethodGet, "/v1/credits", ""), http.StatusForbidden, fault.InsufficientScope, "")
	w.sql(`update api_keys set doc = jsonb_set(doc::jsonb, '{scopes}', '["videos:read", "usage:read", "keys:write"]') where id = $1`, narrow.key.KeyID)
	w.refused(narrow.do(http.MethodGet, "/v1/credits", ""), http.StatusForbidden, fault.InsufficientScope, "")
	require.Equal(t, http.StatusOK, narrow.do(http.MethodGet, "/v1/videos", "").StatusCode)
	require.Len(t, forged.take(), 1)

	// A revoked key that is made valid again.
	require.NoError(t, w.service.RevokeKey(t.Context(), c.key.AccountID, narrow.key.KeyID, "ann", ""))
	w.refused(narrow.do(http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.KeyRevoked, "")
	require.Empty(t, forged.take(), "a change by the service is no contradiction")
	w.sql(`update api_keys set doc = doc::jsonb - 'revoked_at' where id = $1`, narrow.key.KeyID)
	w.advance(2 * time.Minute)
	w.refused(narrow.do(http.MethodGet, "/v1/videos", ""), http.StatusUnauthorized, fault.KeyRevoked, "")
	require.Len(t, forged.take(), 1)
}

// TestForgedTokensAndSessions does the same with the other credentials.
func TestForgedTokensAndSessions(t *testing.T) {
	t.Parallel()
	w, forged := watchForged(t)
	c := w.customer(500)
	secret := c.token(`{"scopes": ["analyses:read"]}`)
	require.Equal(t, http.StatusOK, w.as(secret, http.MethodGet, "/v1/analyses", "").StatusCode)
	require.Empty(t, forged.take())
	w.sql(`update client_tokens set doc = jsonb_set(doc::jsonb, '{scopes}', '["analyses:read", "videos:write"]') where secret_hash = $1`, account.HashSecret(secret))
	w.refused(w.as(secret, http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`), http.StatusForbidden, fault.InsufficientScope, "")
	rows := forged.take()
	require.Len(t, rows, 1)
	require.Contains(t, rows[0], "of the table client_tokens")

	const made = "svcct_forgedforgedforgedforgedforgedforgedforged"
	w.sql(`insert into client_tokens (id, account_id, key_id, secret_hash, doc) select 'ct_forged', account_id, key_id, $2,
		jsonb_set(jsonb_set(doc::jsonb, '{id}', '"ct_forged"'), '{secret_hash}', to_jsonb($2::text)) from client_tokens where secret_hash = $1`,
		account.HashSecret(secret), account.HashSecret(made))
	w.refused(w.as(made, http.MethodGet, "/v1/analyses", ""), http.StatusUnauthorized, fault.InvalidAPIKey, "")
	require.Len(t, forged.take(), 1)

	// A session that nobody opened, for the account of the operator.
	real := w.operator()
	require.Equal(t, http.StatusOK, real.open("/account/sessions").StatusCode)
	require.Empty(t, forged.take())
	w.sql(`insert into sessions (id, account_id, secret_hash, ended, opened_at, doc) select 'sess_forged', account_id, $2, false, opened_at,
		jsonb_set(jsonb_set(doc::jsonb, '{id}', '"sess_forged"'), '{secret_hash}', to_jsonb($2::text)) from sessions where id = $1`,
		w.sessionOf(real), account.HashSecret("forged"))
	eve := w.visitor()
	eve.setCookie("vqa_session", "forged")
	problem(t, eve.post("/session/token", url.Values{}), http.StatusUnauthorized, "Your session has ended")
	rows = forged.take()
	require.Len(t, rows, 1)
	require.Contains(t, rows[0], "the row sess_forged of the table sessions")

	// An account that is not restricted any more.
	operator := w.operatorAccount()
	require.NoError(t, w.service.RestrictAccount(t.Context(), operator, "test", "ann", ""))
	w.sql(`update accounts set doc = doc::jsonb - 'restricted_at' where id = $1`, operator)
	w.advance(2 * time.Minute) // an old row that is put back works for a minute
	got := real.open("/account/sessions")
	require.Equal(t, http.StatusForbidden, got.StatusCode, string(got.raw))
	require.Len(t, forged.take(), 1)
}

// TestCredentialsChangeWhileTheyAreRead uses a key while it is changed. No row is taken for a forged one.
func TestCredentialsChangeWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	w, forged := watchForged(t)
	c := w.customer(500)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 40 {
				status := c.do(http.MethodGet, "/v1/videos", "").StatusCode
				require.Contains(t, []int{http.StatusOK, http.StatusForbidden}, status)
			}
		})
	}
	for range 15 {
		require.NoError(t, w.service.RestrictAccount(t.Context(), c.key.AccountID, "test", "ann", ""))
		require.NoError(t, w.service.UnrestrictAccount(t.Context(), c.key.AccountID, "test", "ann", ""))
		w.advance(2 * time.Minute)
	}
	all.Wait()
	require.Empty(t, forged.take())
	require.Equal(t, http.StatusOK, c.do(http.MethodGet, "/v1/videos", "").StatusCode)
}

// TestForgedDeviceCodeRow: an attacker writes the user code of somebody else's program into the row of his own. The
// person who types the code must not approve the attacker's program.
func TestForgedDeviceCodeRow(t *testing.T) {
	t.Parallel()
	forged := &forgedRows{}
	w, issuer := openWithSessions(t, func(o *httpapi.Options) { o.Forged = forged.note })
	victim, attacker := w.requestKey(), w.requestKey()
	code, ok := account.ParseUserCode(victim.userCode)
	require.True(t, ok)
	w.sql("update device_codes set user_code_hash = $1, expires_at = expires_at + interval '1 minute', doc = jsonb_set(doc::jsonb, '{user_code_hash}', to_jsonb($1::text)) where id = $2",
		account.HashSecret(code), account.HashSecret(attacker.deviceCode))
	p := w.signedIn(issuer, "ada")
	says(t, p.page(victim.userCode), "There is no request with this code.")
	rows := forged.take()
	require.Len(t, rows, 1)
	require.Contains(t, rows[0], "device_codes")
}
