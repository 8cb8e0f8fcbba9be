package httpapi

import (
	"context"

	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// UpgradeKey answers POST /v1/keys/upgrade. The body is optional.
func (s *server) UpgradeKey(ctx context.Context, r api.UpgradeKeyRequestObject) (api.UpgradeKeyResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	c := command.Upgrade{AddressHash: s.cappedAddress(x.Request)}
	if r.Body != nil && r.Body.ForgeToken != nil {
		c.ForgeToken = *r.Body.ForgeToken
	}
	upgraded, err := s.Service.Upgrade(ctx, x.Caller, c)
	if err != nil {
		setting := "VQA_UPGRADE_PER_IP"
		if f := fault.Of(err); f != nil && f.Details["scope"] == "service" {
			setting = "VQA_UPGRADE_GLOBAL"
		}
		return nil, withSetting(err, fault.UpgradeLimitExceeded, setting)
	}
	note := "Store this key now: it is not shown again. It answers questions about real videos and expires 30 days after its last use. " +
		"When its grant is used up, requests are refused with grant_exhausted and nothing is billed."
	out := api.UpgradeKey201JSONResponse{
		Object: api.UpgradedKeyObjectApiKey, Livemode: true, ApiKey: upgraded.Secret, Tier: api.UpgradedKeyTier(upgraded.Tier),
		ExpiresAt: stamp(*upgraded.ExpiresAt), GrantSeconds: upgraded.GrantSeconds, Note: &note,
	}
	if s.peopleSignIn() {
		out.ClaimFlow = &api.ClaimFlow{
			ClaimUrl: s.url("/claim"),
			Instructions: "For a billed key, send POST /v1/keys/request. The person who pays opens the claim_url of the response and " +
				"approves. Meanwhile, poll GET /v1/keys/request/{code}.",
		}
	}
	return out, nil
}
