package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
)

const (
	// timeout bounds one question to the provider.
	timeout = 10 * time.Second
	// maxAnswer is how many bytes of an answer are read; a user is far smaller.
	maxAnswer = 64 << 10
	// maxToken is the longest token that is passed on, in bytes.
	maxToken = 1000
)

// Options say where the provider is.
type Options struct {
	// ClientID, DeviceCodeURL and AccessTokenURL are for the caller's device flow.
	ClientID, DeviceCodeURL, AccessTokenURL string
	// UserURL answers a bearer token with the account that it belongs to, a JSON object
	// with a numeric id.
	UserURL string
	// Transport is the guarded way out, which judges where it leads.
	Transport http.RoundTripper
	// Timeout bounds one question; 0 is 10 s.
	Timeout time.Duration
}

// Forge is a provider of identities. It is safe for concurrent use.
type Forge struct {
	opt      Options
	provider string
	client   *http.Client
}

// New returns a provider, or an error for a missing option or a URL that is none.
func New(opt Options) (*Forge, error) {
	if opt.ClientID == "" || opt.Transport == nil {
		return nil, errors.New("identity: a client id and a transport are required")
	}
	for _, raw := range []string{opt.DeviceCodeURL, opt.AccessTokenURL, opt.UserURL} {
		if u, err := url.Parse(raw); err != nil || u.Host == "" {
			return nil, fmt.Errorf("identity: %q is not an absolute URL", raw)
		}
	}
	if opt.Timeout == 0 {
		opt.Timeout = timeout
	}
	user, err := url.Parse(opt.UserURL)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return &Forge{opt: opt, provider: strings.ToLower(user.Host), client: &http.Client{
		Transport: opt.Transport,
		// A redirect would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Verify returns the account that a token belongs to. Errors:
// forge_verification_required for an empty token, with the details of the device flow;
// forge_token_invalid for one that the provider refuses; upstream_error when the
// provider does not answer as it should; the error of ctx when the caller is gone.
func (f *Forge) Verify(ctx context.Context, token string) (account.Identity, error) {
	if token == "" {
		return account.Identity{}, fault.New(fault.ForgeVerificationRequired, "").
			WithDetail("client_id", f.opt.ClientID).WithDetail("device_code_url", f.opt.DeviceCodeURL).
			WithDetail("access_token_url", f.opt.AccessTokenURL)
	}
	if !passable(token) {
		return account.Identity{}, fault.New(fault.ForgeTokenInvalid, "")
	}
	asking, cancel := context.WithTimeout(ctx, f.opt.Timeout)
	defer cancel()
	number, err := f.ask(asking, token)
	switch {
	case err == nil:
		return account.Identity{Provider: f.provider, ID: number}, nil
	case ctx.Err() != nil:
		return account.Identity{}, ctx.Err()
	case fault.Has(err, fault.ForgeTokenInvalid):
		return account.Identity{}, err
	default:
		return account.Identity{}, fault.New(fault.UpstreamError, "The provider of identities did not answer as it should; try again.").WithCause(err)
	}
}

// passable reports whether a header can carry a token: visible ASCII (RFC 6750 has even
// fewer characters).
func passable(token string) bool {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' }
	return len(token) <= maxToken && !strings.ContainsFunc(token, unfit)
}

func (f *Forge) ask(ctx context.Context, token string) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.opt.UserURL, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "identity")
	r.Header.Set("User-Agent", "vqa/1 (identity check)")
	answer, err := f.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	switch answer.StatusCode {
	case http.StatusOK:
		return accountNumber(answer.Body)
	case http.StatusUnauthorized, http.StatusForbidden:
		return 0, fault.New(fault.ForgeTokenInvalid, "")
	default:
		return 0, fmt.Errorf("identity: the provider answered with status %d", answer.StatusCode)
	}
}

// accountNumber reads the id of the account, a whole number greater than 0.
func accountNumber(body io.Reader) (int64, error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return 0, fmt.Errorf("identity: reading the answer: %w", err)
	}
	if len(raw) > maxAnswer {
		return 0, fmt.Errorf("identity: the answer is longer than %d bytes", maxAnswer)
	}
	var user struct {
		ID *int64 `json:"id"`
	}
	// The error of the decoder may quote the answer, which is about a person.
	if json.Unmarshal(raw, &user) != nil || user.ID == nil || *user.ID <= 0 {
		return 0, errors.New("identity: the answer is no account with a number")
	}
	return *user.ID, nil
}
