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
	// timeout is the time limit of one request to the provider.
	timeout = 10 * time.Second
	// maxAnswer is the largest response in bytes. The JSON of an account is far smaller.
	maxAnswer = 64 << 10
	// maxToken is the longest accepted token in bytes.
	maxToken = 1000
)

// Options configure a provider.
type Options struct {
	// ClientID, DeviceCodeURL and AccessTokenURL are for the caller's device flow.
	ClientID, DeviceCodeURL, AccessTokenURL string
	// UserURL returns the account of a bearer token: a JSON object with a numeric id.
	UserURL string
	// Transport sends the requests. It must refuse internal addresses.
	Transport http.RoundTripper
	// Timeout is the time limit of one request. The default is 10 s.
	Timeout time.Duration
}

// Forge is an identity provider. It is safe for concurrent use.
type Forge struct {
	opt      Options
	provider string
	client   *http.Client
}

// New returns a provider. It fails if an option is missing or a URL is not absolute.
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
		// A redirect would send the token to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Verify returns the account of a token. Errors: forge_verification_required for an empty
// token, with the details of the device flow; forge_token_invalid if the provider refuses
// the token; upstream_error if the provider fails; the error of ctx if it is canceled.
func (f *Forge) Verify(ctx context.Context, token string) (account.Identity, error) {
	if token == "" {
		return account.Identity{}, fault.New(fault.ForgeVerificationRequired, "").
			WithDetail("client_id", f.opt.ClientID).WithDetail("device_code_url", f.opt.DeviceCodeURL).
			WithDetail("access_token_url", f.opt.AccessTokenURL)
	}
	if !fitsHeader(token) {
		return account.Identity{}, fault.New(fault.ForgeTokenInvalid, "")
	}
	limited, cancel := context.WithTimeout(ctx, f.opt.Timeout)
	defer cancel()
	number, err := f.fetchAccount(limited, token)
	switch {
	case err == nil:
		return account.Identity{Provider: f.provider, ID: number}, nil
	case ctx.Err() != nil:
		return account.Identity{}, ctx.Err()
	case fault.Has(err, fault.ForgeTokenInvalid):
		return account.Identity{}, err
	default:
		return account.Identity{}, fault.New(fault.UpstreamError, "The identity provider did not return an account. Try again later.").WithCause(err)
	}
}

// fitsHeader reports whether a token is short enough and visible ASCII (RFC 6750 allows even
// fewer characters).
func fitsHeader(token string) bool {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	return len(token) <= maxToken && !strings.ContainsFunc(token, invisible)
}

// fetchAccount returns the account number of a token.
func (f *Forge) fetchAccount(ctx context.Context, token string) (int64, error) {
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
		return 0, fmt.Errorf("identity: the provider returned status %d", answer.StatusCode)
	}
}

// accountNumber reads the id of the account, which must be an integer greater than 0.
func accountNumber(body io.Reader) (int64, error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return 0, fmt.Errorf("identity: reading the response: %w", err)
	}
	if len(raw) > maxAnswer {
		return 0, fmt.Errorf("identity: the response is larger than %d bytes", maxAnswer)
	}
	var user struct {
		ID *int64 `json:"id"`
	}
	// The decoder's error is dropped: it may quote personal data from the response.
	if json.Unmarshal(raw, &user) != nil || user.ID == nil || *user.ID <= 0 {
		return 0, errors.New("identity: the response has no account number")
	}
	return *user.ID, nil
}
