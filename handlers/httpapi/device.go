package httpapi

import (
	"context"
	"net/url"
	"time"

	"vqa/domain/account"
	"vqa/domain/fault"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// RequestDeviceCode answers POST /v1/keys/request.
func (s *server) RequestDeviceCode(ctx context.Context, _ api.RequestDeviceCodeRequestObject) (api.RequestDeviceCodeResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	x.Header().Set("Cache-Control", "no-store")
	caller := x.Caller
	caller.RequestID = x.RequestID // an anonymous caller has nothing else
	requested, err := s.Service.RequestDeviceCode(ctx, caller, s.SandboxAddress(x.Request))
	if err != nil {
		return nil, err
	}
	userCode := account.FormatUserCode(requested.UserCode)
	instructions := "Send the user to claim_url: there they sign in, compare the code " + userCode + " and approve. " +
		"Poll GET /v1/keys/request/{device_code} meanwhile; the answer that says consumed carries the key, once."
	if s.Sessions == nil {
		instructions = "This service has no sign-in, so that nobody can approve the request."
	}
	return api.RequestDeviceCode202JSONResponse{
		Object: api.DeviceCodeRequestObjectDeviceCodeRequest, DeviceCode: requested.DeviceCode,
		ClaimUrl:  s.url("/claim?code=" + url.QueryEscape(userCode)),
		ExpiresAt: stamp(requested.ExpiresAt), PollInterval: int(account.DevicePollEvery / time.Second), Instructions: &instructions,
	}, nil
}

// GetDeviceCode answers GET /v1/keys/request/{code} (api-v1.md, "Device code"): the
// poll that first sees the approval is the one that gets the key.
func (s *server) GetDeviceCode(ctx context.Context, r api.GetDeviceCodeRequestObject) (api.GetDeviceCodeResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	x.Header().Set("Cache-Control", "no-store")
	hash, now := account.HashSecret(r.Code), s.Service.Now()
	d, found, err := s.Resources.DeviceCode(ctx, hash)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fault.NotFound("code", "") // a code is a secret: it is not repeated
	case !d.Open(now):
		return nil, fault.New(fault.DeviceCodeExpired, "")
	}
	wait, err := s.Windows.Allow(ctx, "device_code/"+hash, account.DevicePollEvery, now)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		return nil, fault.New(fault.RateLimitExceeded, "Poll no faster than poll_interval.").
			WithRetryAfter(int((wait + time.Second - 1) / time.Second))
	}
	// A HEAD has no body for the key to be in: it must not take it.
	if d.Status != account.DeviceApproved || x.Head {
		return deviceStatus(api.DeviceCodeStatusStatusPending, nil), nil
	}
	key, err := s.Service.CollectKey(ctx, hash, d.AccountID, x.RequestID)
	if err != nil {
		return nil, err
	}
	return deviceStatus(api.DeviceCodeStatusStatusConsumed, &key), nil
}

func deviceStatus(status api.DeviceCodeStatusStatus, key *command.IssuedKey) api.GetDeviceCode200JSONResponse {
	out := api.GetDeviceCode200JSONResponse{Object: api.DeviceCodeStatusObjectDeviceCodeRequest, Status: status}
	if key != nil {
		out.ApiKey = &key.Secret
	}
	return out
}
