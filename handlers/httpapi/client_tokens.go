package httpapi

import (
	"context"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// CreateClientToken answers POST /v1/client_tokens. The edge has checked the body.
func (s *server) CreateClientToken(ctx context.Context, r api.CreateClientTokenRequestObject) (api.CreateClientTokenResponseObject, error) {
	c := command.MintClientToken{Life: account.DefaultClientTokenLife}
	for _, scope := range r.Body.Scopes {
		c.Scopes = append(c.Scopes, string(scope))
	}
	if r.Body.TtlS != nil {
		c.Life = time.Duration(*r.Body.TtlS) * time.Second
	}
	if r.Body.VideoId != nil {
		if c.VideoID = *r.Body.VideoId; !id.Valid(id.Video, c.VideoID) {
			return nil, fault.NotFound("video_id", c.VideoID)
		}
	}
	if r.Body.StreamId != nil {
		c.StreamID = *r.Body.StreamId
	}
	minted, err := s.Service.MintClientToken(ctx, edge.ExchangeOf(ctx).Caller, c)
	if err != nil {
		return nil, err
	}
	return api.CreateClientToken201JSONResponse(renderClientToken(minted, r.Body.Scopes)), nil
}

func renderClientToken(t command.MintedClientToken, scopes []api.ClientScope) api.ClientToken {
	out := api.ClientToken{
		Id: t.ID, Object: api.ClientTokenObjectClientToken, Token: t.Secret, Scopes: scopes, ExpiresAt: t.ExpiresAt,
	}
	if t.VideoID != "" {
		out.VideoId = &t.VideoID
	}
	if t.StreamID != "" {
		out.StreamId = &t.StreamID
	}
	return out
}
