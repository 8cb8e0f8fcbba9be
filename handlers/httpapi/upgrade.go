package httpapi

import (
	"context"

	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// UpgradeKey answers POST /v1/keys/upgrade; no body is an empty one.
func (s *server) UpgradeKey(ctx context.Context, r api.UpgradeKeyRequestObject) (api.UpgradeKeyResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	order := command.Upgrade{AddressHash: s.cappedAddress(x.Request)}
	if r.Body != nil && r.Body.ForgeToken != nil {
		order.ForgeToken = *r.Body.ForgeToken
	}
	upgraded, err := s.Service.Upgrade(ctx, x.Caller, order)
	if err != nil {
		setting := "VQA_UPGRADE_PER_IP"
		if f := fault.Of(err); f != nil && f.Details["scope"] == "service" {
			setting = "VQA_UPGRADE_GLOBAL"
		}
		return nil, withSetting(err, fault.UpgradeLimitExceeded, setting)
	}
	note := "This key is shown only now. It answers questions about real videos and ends 30 days after its last use; " +
		"when its grant is used up, requests are refused with grant_exhausted and nothing more is billed."
	out := api.UpgradeKey201JSONResponse{
		Object: api.UpgradedKeyObjectApiKey, Livemode: true, ApiKey: upgraded.Secret, Tier: api.UpgradedKeyTier(upgraded.Tier),
		ExpiresAt: stamp(*upgraded.ExpiresAt), GrantSeconds: upgraded.GrantSeconds, Note: &note,
	}
	if s.Sessions != nil {
		out.ClaimFlow = &api.ClaimFlow{
			ClaimUrl: s.url("/claim"),
			Instructions: "For a billed key, POST /v1/keys/request, let the person who pays open the claim_url of its answer and " +
				"approve, and poll GET /v1/keys/request/{code}.",
		}
	}
	return out, nil
}
