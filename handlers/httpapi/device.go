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
	caller.RequestID = x.RequestID // an anonymous caller has no request id yet
	requested, err := s.Service.RequestDeviceCode(ctx, caller, s.SandboxAddress(x.Request))
	if err != nil {
		return nil, err
	}
	userCode := account.FormatUserCode(requested.UserCode)
	instructions := "Send the user to claim_url. The user signs in, compares the code " + userCode + " and approves. " +
		"Meanwhile, poll GET /v1/keys/request/{device_code}. The response with status consumed contains the key, once."
	if !s.peopleSignIn() {
		instructions = "This request cannot be approved: sign-in is not configured on this service."
	}
	return api.RequestDeviceCode202JSONResponse{
		Object: api.DeviceCodeRequestObjectDeviceCodeRequest, DeviceCode: requested.DeviceCode,
		ClaimUrl:  s.url("/claim?code=" + url.QueryEscape(userCode)),
		ExpiresAt: stamp(requested.ExpiresAt), PollInterval: int(account.DevicePollEvery / time.Second), Instructions: &instructions,
	}, nil
}

// GetDeviceCode answers GET /v1/keys/request/{code} (docs/contract.md#device-codes). The
// first poll after the approval gets the key.
func (s *server) GetDeviceCode(ctx context.Context, r api.GetDeviceCodeRequestObject) (api.GetDeviceCodeResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	x.Header().Set("Cache-Control", "no-store")
	hash, now := account.HashSecret(r.Code), s.Service.Now()
	d, found, err := s.Resources.DeviceCode(ctx, hash)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, fault.NotFound("code", "") // a code is a secret, so it is not in the error
	case !d.Open(now):
		return nil, fault.New(fault.DeviceCodeExpired, "")
	}
	wait, err := s.Windows.Allow(ctx, "device_code/"+hash, account.DevicePollEvery, now)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		return nil, fault.New(fault.RateLimitExceeded, "Wait poll_interval seconds between two polls.").
			WithRetryAfter(int((wait + time.Second - 1) / time.Second))
	}
	// The response to HEAD has no body, so it must not consume the key.
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
