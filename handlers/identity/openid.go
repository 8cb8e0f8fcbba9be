package identity

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"vqa/domain/account"
	"vqa/domain/fault"
)

// maxSubject is the longest subject in bytes (OpenID Connect Core, section 2).
const maxSubject = 255

// OpenIDOptions configure an OpenID provider. All fields are required, except for ClientSecret and Timeout.
type OpenIDOptions struct {
	// Issuer is the URL of the provider, exactly as in the claim iss.
	Issuer                 string
	ClientID, ClientSecret string
	// RedirectURL is the address of this service that the provider sends a browser back to.
	RedirectURL string
	// Transport sends the requests. It must refuse internal addresses.
	Transport http.RoundTripper
	Now       func() time.Time
	// Timeout is the time limit of one sign-in at the provider. The default is 10 s.
	Timeout time.Duration
}

// OpenID is an OpenID provider. It reads the description of the provider at the first sign-in, so that the service
// starts without it. It is safe for concurrent use.
type OpenID struct {
	opt    OpenIDOptions
	name   string
	client *http.Client

	mu       sync.Mutex
	provider *oidc.Provider
	endpoint oauth2.Endpoint
}

// NewOpenID fails if an option is missing or the issuer is not an absolute URL.
func NewOpenID(opt OpenIDOptions) (*OpenID, error) {
	if opt.ClientID == "" || opt.RedirectURL == "" || opt.Transport == nil || opt.Now == nil {
		return nil, errors.New("identity: an option of the OpenID provider is missing")
	}
	issuer, err := url.Parse(opt.Issuer)
	if err != nil || issuer.Host == "" {
		return nil, fmt.Errorf("identity: %q is not an absolute URL", opt.Issuer)
	}
	if opt.Timeout == 0 {
		opt.Timeout = timeout
	}
	return &OpenID{opt: opt, name: issuer.Host, client: &http.Client{
		Transport: bounded{opt.Transport}, Timeout: opt.Timeout,
		// A redirect would send the code and the secret of the client to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// bounded ends the body of each response after maxAnswer bytes.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// Issuer returns the issuer of the statements.
func (o *OpenID) Issuer() string { return o.opt.Issuer }

// Name returns the host of the provider.
func (o *OpenID) Name() string { return o.name }

// unavailable is the fault of a provider that fails.
func unavailable(cause error) error {
	return fault.New(fault.UpstreamError, "The sign-in provider does not answer as it should. Try again later.").WithCause(cause)
}

// config returns the addresses of the provider. It fetches them once, again after a failure.
func (o *OpenID) config(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		p, err := oidc.NewProvider(ctx, o.opt.Issuer)
		if err != nil {
			return nil, nil, unavailable(err)
		}
		if o.endpoint, err = o.described(p); err != nil {
			return nil, nil, unavailable(err)
		}
		o.provider = p
	}
	return o.provider, &oauth2.Config{
		ClientID: o.opt.ClientID, ClientSecret: o.opt.ClientSecret, Endpoint: o.endpoint, RedirectURL: o.opt.RedirectURL,
		Scopes: []string{oidc.ScopeOpenID, "email"},
	}, nil
}

// described returns the addresses of a provider and how it authenticates this client. Without the latter, each refused
// code would be sent a second time, to try the other way.
func (o *OpenID) described(p *oidc.Provider) (oauth2.Endpoint, error) {
	var says struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&says); err != nil {
		return oauth2.Endpoint{}, err
	}
	at := p.Endpoint()
	at.AuthStyle = oauth2.AuthStyleInHeader // the default of a provider that lists no methods (OpenID Connect Discovery, section 3)
	if o.opt.ClientSecret == "" || len(says.Methods) > 0 && !slices.Contains(says.Methods, "client_secret_basic") {
		at.AuthStyle = oauth2.AuthStyleInParams
	}
	return at, nil
}

// Start returns the address at the provider where a sign-in starts, with the code flow and PKCE. Error:
// upstream_error.
func (o *OpenID) Start(ctx context.Context, state, nonce, verifier string) (string, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, o.client), o.opt.Timeout)
	defer cancel()
	_, flow, err := o.config(ctx)
	if err != nil {
		return "", err
	}
	return flow.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Finish exchanges the code of a sign-in for the subject of the person and the verified email address, if the provider
// states one. Errors: invalid_api_key if the provider refuses the code, or states something that is not valid;
// upstream_error if it fails.
func (o *OpenID) Finish(ctx context.Context, code, nonce, verifier string) (subject, email string, err error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, o.client), o.opt.Timeout)
	defer cancel()
	provider, flow, err := o.config(ctx)
	if err != nil {
		return "", "", err
	}
	refused := func(cause error) (string, string, error) {
		return "", "", fault.New(fault.InvalidAPIKey, "The provider did not confirm this sign-in. Start again.").WithCause(cause)
	}
	tokens, err := flow.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	var answer *oauth2.RetrieveError
	switch {
	case errors.As(err, &answer) && answer.Response != nil && answer.Response.StatusCode < http.StatusInternalServerError:
		// The cause leaves out the body, which may repeat the code.
		return refused(fmt.Errorf("the provider refused the code with status %d, %q", answer.Response.StatusCode, answer.ErrorCode))
	case err != nil:
		return "", "", unavailable(errors.New("the exchange of the code failed"))
	}
	raw, given := tokens.Extra("id_token").(string)
	if !given {
		return refused(errors.New("the provider sent no id_token"))
	}
	stated, err := provider.VerifierContext(ctx, &oidc.Config{
		ClientID: o.opt.ClientID, Now: o.opt.Now, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256, oidc.EdDSA, oidc.PS256},
	}).Verify(ctx, raw)
	if err != nil {
		return refused(err)
	}
	if subtle.ConstantTimeCompare([]byte(stated.Nonce), []byte(nonce)) != 1 {
		return refused(errors.New("the statement has another nonce"))
	}
	if stated.Subject == "" || len(stated.Subject) > maxSubject {
		return refused(errors.New("the statement has no subject of 1 to 255 bytes"))
	}
	var address account.EmailClaims
	if err := stated.Claims(&address); err != nil {
		return refused(err)
	}
	return stated.Subject, address.Verified(), nil
}
