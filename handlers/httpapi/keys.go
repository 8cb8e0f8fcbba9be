package httpapi

import (
	"context"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// ListApiKeys answers GET /v1/api-keys.
func (s *server) ListApiKeys(ctx context.Context, r api.ListApiKeysRequestObject) (api.ListApiKeysResponseObject, error) { //nolint:staticcheck // ST1003: the generator names it
	p := r.Params
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	keys, more, err := s.Resources.Keys(ctx, edge.ExchangeOf(ctx).Tenant(), page)
	if err != nil {
		return nil, err
	}
	list := api.ApiKeyList{Object: api.ApiKeyListObjectList, Data: make([]api.ApiKey, len(keys)), HasMore: more}
	for i, k := range keys {
		list.Data[i] = s.renderKey(k)
	}
	return api.ListApiKeys200JSONResponse(list), nil
}

// CreateApiKey answers POST /v1/api-keys. The edge has checked the body.
func (s *server) CreateApiKey(ctx context.Context, r api.CreateApiKeyRequestObject) (api.CreateApiKeyResponseObject, error) { //nolint:staticcheck // ST1003: the generator names it
	var scopes []string
	if r.Body.Scopes != nil {
		for _, scope := range *r.Body.Scopes {
			scopes = append(scopes, string(scope))
		}
	}
	minted, err := s.Service.MintKey(ctx, edge.ExchangeOf(ctx).Caller, r.Body.Name, scopes)
	if err != nil {
		return nil, err
	}
	return api.CreateApiKey201JSONResponse(s.renderIssuedKey(minted)), nil
}

// GetApiKey answers GET /v1/api-keys/{id}.
func (s *server) GetApiKey(ctx context.Context, r api.GetApiKeyRequestObject) (api.GetApiKeyResponseObject, error) { //nolint:staticcheck // ST1003: the generator names it
	k, err := s.ownKey(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	return api.GetApiKey200JSONResponse(s.renderKey(k)), nil
}

// RevokeApiKey answers DELETE /v1/api-keys/{id}.
func (s *server) RevokeApiKey(ctx context.Context, r api.RevokeApiKeyRequestObject) (api.RevokeApiKeyResponseObject, error) { //nolint:staticcheck // ST1003: the generator names it
	if _, err := s.ownKey(ctx, r.Id); err != nil {
		return nil, err
	}
	if err := s.Service.RevokeOwnKey(ctx, edge.ExchangeOf(ctx).Caller, r.Id); err != nil {
		return nil, err
	}
	return api.RevokeApiKey200JSONResponse{Id: r.Id, Object: api.DeletedApiKeyObjectApiKey, Deleted: true}, nil
}

// RotateApiKey answers POST /v1/api-keys/{id}/rotate. The body is optional.
func (s *server) RotateApiKey(ctx context.Context, r api.RotateApiKeyRequestObject) (api.RotateApiKeyResponseObject, error) { //nolint:staticcheck // ST1003: the generator names it
	if _, err := s.ownKey(ctx, r.Id); err != nil {
		return nil, err
	}
	revokeOld := r.Body != nil && r.Body.RevokeOld != nil && *r.Body.RevokeOld
	minted, err := s.Service.RotateKey(ctx, edge.ExchangeOf(ctx).Caller, r.Id, revokeOld)
	if err != nil {
		return nil, err
	}
	return api.RotateApiKey201JSONResponse(s.renderIssuedKey(minted)), nil
}

// ownKey reads an API key of the caller. A malformed id reads as unknown.
func (s *server) ownKey(ctx context.Context, keyID string) (account.Key, error) {
	if !id.Valid(id.Key, keyID) {
		return account.Key{}, fault.NotFound("id", keyID)
	}
	return s.Resources.OwnKey(ctx, edge.ExchangeOf(ctx).Tenant(), keyID)
}

// renderKey renders a key without its secret.
func (s *server) renderKey(k account.Key) api.ApiKey {
	now := s.Service.Now()
	out := api.ApiKey{
		Id: k.ID, Object: api.ApiKeyObjectApiKey, Livemode: k.Livemode(), Status: api.ApiKeyStatusActive, Name: k.Name,
		Mode: api.ApiKeyMode(k.Mode), Tier: api.ApiKeyTier(k.Tier), Hint: k.Hint, Legacy: k.Legacy, CreatedAt: stamp(k.IssuedAt),
		ExpiresAt: stampOf(k.End()), LastUsedAt: stampOf(k.LastUsedAt), RevokedAt: stampOf(k.RevokedAt),
	}
	switch {
	case fault.Has(k.Ended(now), fault.KeyRevoked):
		out.Status = api.ApiKeyStatusRevoked
	case k.Ended(now) != nil || s.LegacyKeys.Check(k, now) != nil:
		out.Status = api.ApiKeyStatusExpired
	}
	if end, known := s.LegacyKeys.End(); k.Legacy && known && (k.ExpiresAt == nil || end.Before(*k.ExpiresAt)) {
		out.ExpiresAt = stampOf(&end)
	}
	if k.RotatedFrom != "" {
		out.RotatedFrom = &k.RotatedFrom
	}
	scopes := k.Scopes
	if scopes == nil {
		scopes = account.Scopes()
	}
	out.Scopes = make([]api.Scope, len(scopes))
	for i, scope := range scopes {
		out.Scopes[i] = api.Scope(scope)
	}
	return out
}

// renderIssuedKey renders a new key with its secret.
func (s *server) renderIssuedKey(m command.MintedKey) api.IssuedApiKey {
	k := s.renderKey(m.Key)
	return api.IssuedApiKey{
		Id: k.Id, Object: api.IssuedApiKeyObjectApiKey, Livemode: k.Livemode, Status: api.IssuedApiKeyStatus(k.Status), ApiKey: m.Secret,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, Hint: k.Hint, LastUsedAt: k.LastUsedAt, Legacy: k.Legacy,
		Mode: api.IssuedApiKeyMode(k.Mode), Name: k.Name, RevokedAt: k.RevokedAt, RotatedFrom: k.RotatedFrom, Scopes: k.Scopes,
		Tier: api.IssuedApiKeyTier(k.Tier),
	}
}
