package server

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/oauth"
)

// tokenResponse is the response of the token endpoint (RFC 6749, section 5.1).
type tokenResponse struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// token answers POST /token. Errors: InvalidRequest, InvalidClient, InvalidGrant, InvalidScope, InvalidTarget and
// UnsupportedGrantType.
func (s *server) token(w http.ResponseWriter, r *http.Request) {
	f, err := s.clientForm(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var tokens command.AgentTokens
	switch f.Get("grant_type") {
	case "authorization_code":
		tokens, err = s.redeem(r.Context(), f)
	case "refresh_token":
		tokens, err = s.refresh(r.Context(), f)
	default:
		err = &oauth.Error{Code: oauth.UnsupportedGrantType, Description: "grant_type must be authorization_code or refresh_token."}
	}
	if err != nil {
		s.fail(w, r, invalidGrant(err))
		return
	}
	newest := tokens.State.Access[len(tokens.State.Access)-1]
	secret(w, http.StatusOK, tokenResponse{
		AccessToken: tokens.Access, TokenType: "Bearer", ExpiresIn: int64(newest.ExpiresAt.Sub(tokens.UsedAt) / time.Second),
		RefreshToken: tokens.Refresh, Scope: tokens.Scope,
	})
}

// clientForm reads the form of a client. A client has no secret and must not send one. Errors: InvalidRequest,
// InvalidClient.
func (s *server) clientForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	f, err := form(w, r)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Authorization") != "" || f.Has("client_secret") || f.Has("client_assertion") {
		return nil, &oauth.Error{Code: oauth.InvalidClient, Description: "Clients are public. Send client_id in the form, without a secret."}
	}
	if f.Get("client_id") == "" {
		return nil, &oauth.Error{Code: oauth.InvalidRequest, Description: "client_id is missing."}
	}
	return f, s.checkClient(r.Context(), f.Get("client_id"))
}

func (s *server) redeem(ctx context.Context, f url.Values) (command.AgentTokens, error) {
	code := f.Get("code")
	g, err := s.grantOf(ctx, grant.CodeSecret, code, "code")
	if err != nil {
		return command.AgentTokens{}, err
	}
	if g.ClientID != f.Get("client_id") {
		return command.AgentTokens{}, &oauth.Error{Code: oauth.InvalidGrant, Description: "The authorization code belongs to another client."}
	}
	if err := checkBinding(f, g); err != nil {
		return command.AgentTokens{}, err
	}
	if given := f.Get("redirect_uri"); given != "" && given != g.RedirectURI {
		return command.AgentTokens{}, &oauth.Error{Code: oauth.InvalidGrant, Description: "redirect_uri differs from that of the authorization request."}
	}
	if err := oauth.CheckVerifier(g.Challenge, f.Get("code_verifier")); err != nil {
		return command.AgentTokens{}, err
	}
	return s.Service.RedeemCode(ctx, edge.ExchangeOf(ctx).RequestID, g, f.Get("client_id"), code)
}

func (s *server) refresh(ctx context.Context, f url.Values) (command.AgentTokens, error) {
	token := f.Get("refresh_token")
	g, err := s.grantOf(ctx, grant.RefreshSecret, token, "refresh_token")
	if err != nil {
		return command.AgentTokens{}, err
	}
	if err := checkBinding(f, g); err != nil {
		return command.AgentTokens{}, err
	}
	return s.Service.RefreshAgent(ctx, edge.ExchangeOf(ctx).RequestID, g, f.Get("client_id"), token)
}

// grantOf finds the grant that a secret names. Error: InvalidGrant.
func (s *server) grantOf(ctx context.Context, kind grant.Kind, presented, parameter string) (grant.State, error) {
	unknown := &oauth.Error{Code: oauth.InvalidGrant, Description: parameter + " is unknown. Start the authorization again."}
	grantID, named := grant.GrantOf(kind, presented)
	if !named {
		return grant.State{}, unknown
	}
	g, found, err := s.Reader.Grant(ctx, grantID)
	if err != nil {
		return grant.State{}, err
	}
	if !found {
		return grant.State{}, unknown
	}
	return g, nil
}

// checkBinding refuses a request for more than the person allowed. Errors: InvalidTarget, InvalidScope.
func checkBinding(f url.Values, g grant.State) error {
	if _, err := oauth.CheckResource(f.Get("resource"), g.Resource); err != nil {
		return err
	}
	return oauth.CheckScope(f.Get("scope"))
}

// invalidGrant turns the fault of a refused code or token into the error of OAuth. Other errors stay.
func invalidGrant(err error) error {
	for _, code := range []fault.Code{fault.InvalidAPIKey, fault.KeyRevoked, fault.TokenExpired, fault.ResourceNotFound} {
		if fault.Has(err, code) {
			return &oauth.Error{Code: oauth.InvalidGrant, Description: fault.Of(err).Message}
		}
	}
	return err
}

// revoke answers POST /revoke (RFC 7009). A token of either kind revokes its whole grant. An unknown token is
// answered like a known one.
func (s *server) revoke(w http.ResponseWriter, r *http.Request) {
	f, err := s.clientForm(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if f.Get("token") == "" {
		s.fail(w, r, &oauth.Error{Code: oauth.InvalidRequest, Description: "token is missing."})
		return
	}
	if err := s.revokeToken(r.Context(), f.Get("token"), f.Get("client_id")); err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (s *server) revokeToken(ctx context.Context, token, clientID string) error {
	for _, kind := range []grant.Kind{grant.AccessToken, grant.RefreshSecret} {
		grantID, named := grant.GrantOf(kind, token)
		if !named {
			continue
		}
		g, found, err := s.Reader.Grant(ctx, grantID)
		if err != nil {
			return err
		}
		if !found || g.ClientID != clientID || !g.Holds(kind, token) {
			return nil
		}
		return s.Service.RevokeOwnGrant(ctx, edge.ExchangeOf(ctx).RequestID, g, clientID)
	}
	return nil
}
