package edge

import (
	"context"
	"net/http"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/grant"
	"vqa/handlers/command"
	"vqa/handlers/oauth"
)

// AgentsPath is the page on which a person sees and revokes the permissions of agents.
const AgentsPath = "/account/agents"

// authorizationOperations stand for the paths of OAuth in the log and in metrics.
var authorizationOperations = map[string]*operation{
	oauth.AuthorizePath:                    {id: "authorize", path: oauth.AuthorizePath},
	oauth.TokenPath:                        {id: "token", path: oauth.TokenPath},
	oauth.RegisterPath:                     {id: "registerClient", path: oauth.RegisterPath},
	oauth.RevokePath:                       {id: "revokeToken", path: oauth.RevokePath},
	oauth.ServerMetadataPath:               {id: "authorizationServerMetadata", path: oauth.ServerMetadataPath},
	oauth.ResourceMetadataPath:             {id: "protectedResourceMetadata", path: oauth.ResourceMetadataPath},
	oauth.ResourceMetadataPath + ToolsPath: {id: "protectedResourceMetadata", path: oauth.ResourceMetadataPath},
	oauth.ResourceMetadataPath + slashed:   {id: "protectedResourceMetadata", path: oauth.ResourceMetadataPath},
	AgentsPath:                             {id: "agents", path: AgentsPath},
}

// serveAuthorization passes a request to the authorization server. It counts for its address, because it has no
// credential of an account, or that of a person. Error: rate_limit_exceeded.
func (e *Edge) serveAuthorization(x *Exchange, r *http.Request, op *operation) error {
	x.operation, x.Request = op, r
	kind := writes
	switch {
	case r.Method == http.MethodOptions:
		kind = exempt
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		kind = reads
	case op.path == oauth.RegisterPath:
		kind = registrations
	}
	if err := e.admit(x, r, kind, nil); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), e.RequestTimeout)
	defer cancel()
	x.Request = r.WithContext(ctx)
	e.Authorization.ServeHTTP(x.response, x.Request)
	return nil
}

// Session returns a hash that identifies the session that SignIn accepted. It is empty before.
func (x *Exchange) Session() string { return x.session }

// agentScopes are the rights of an access token: those that the agent tools need.
var agentScopes = []string{"videos:read", "videos:write", "analyses:read", "analyses:write", "usage:read"}

// sampleScopes are those of a permission for the free sample video only. It shows no balance and no transactions of the
// account, and adds no video.
var sampleScopes = []string{"videos:read", "analyses:read", "analyses:write"}

// callerOfAgent returns the caller of an access token. The token works at the agent tool endpoint, and in the
// requests of its tools. Errors: invalid_api_key, key_revoked, token_expired, account_restricted.
func (e *Edge) callerOfAgent(ctx context.Context, x *Exchange, token string) (command.Caller, error) {
	_, ofTool := ctx.Value(passKey{}).(*pass)
	if e.Authorization == nil {
		return command.Caller{}, fault.New(fault.InvalidAPIKey, "")
	}
	if x.operation != toolsOperation && !ofTool {
		return command.Caller{}, fault.New(fault.InvalidAPIKey, "An access token of an agent works at /mcp only. Use an API key here.")
	}
	grantID, named := grant.GrantOf(grant.AccessToken, token)
	if !named {
		return command.Caller{}, fault.New(fault.InvalidAPIKey, "")
	}
	g, found, err := e.Accounts.Grant(ctx, grantID)
	if err != nil {
		return command.Caller{}, err
	}
	if !found {
		return command.Caller{}, fault.New(fault.InvalidAPIKey, "")
	}
	if err := g.Check(grant.Hash(token), e.PublicURL+ToolsPath, e.Service.Now()); err != nil {
		return command.Caller{}, err
	}
	owner, found, err := e.Accounts.Account(ctx, g.AccountID)
	if err != nil {
		return command.Caller{}, err
	}
	if !found || owner.RestrictedAt != nil {
		return command.Caller{}, fault.New(fault.AccountRestricted, "")
	}
	return agentCaller(g, owner, x.RequestID), nil
}

// agentCaller returns an agent as a caller, with the rights that its person gave it.
func agentCaller(g grant.State, owner account.State, requestID string) command.Caller {
	scopes := agentScopes
	if !g.Livemode {
		scopes = sampleScopes
	}
	return command.Caller{
		AccountID: g.AccountID, Livemode: g.Livemode, Tier: owner.Tier, Scopes: scopes, GrantID: g.ID,
		GrantLimitSeconds: g.LimitSeconds, RequestID: requestID,
	}
}

// advertise adds the address of the metadata to the challenge of the agent tool endpoint, so that a client finds
// the authorization server (RFC 9728, section 5.1).
func (x *Exchange) advertise(h http.Header) {
	given := h.Get("WWW-Authenticate")
	if given != "" && x.operation == toolsOperation && x.edge.Authorization != nil {
		h.Set("WWW-Authenticate", oauth.Challenge(given, x.edge.PublicURL, x.Request.URL.Path))
	}
}
