package httpapi

import (
	"context"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
)

// What the contract has and nobody has built yet; each goes away with its handler.

func (s *server) ListApiKeys(context.Context, api.ListApiKeysRequestObject) (api.ListApiKeysResponseObject, error) {
	return nil, fault.New(fault.InternalError, "")
}

func (s *server) CreateApiKey(context.Context, api.CreateApiKeyRequestObject) (api.CreateApiKeyResponseObject, error) {
	return nil, fault.New(fault.InternalError, "")
}

func (s *server) RevokeApiKey(context.Context, api.RevokeApiKeyRequestObject) (api.RevokeApiKeyResponseObject, error) {
	return nil, fault.New(fault.InternalError, "")
}

func (s *server) GetApiKey(context.Context, api.GetApiKeyRequestObject) (api.GetApiKeyResponseObject, error) {
	return nil, fault.New(fault.InternalError, "")
}

func (s *server) RotateApiKey(context.Context, api.RotateApiKeyRequestObject) (api.RotateApiKeyResponseObject, error) {
	return nil, fault.New(fault.InternalError, "")
}

func (s *server) UpgradeKey(context.Context, api.UpgradeKeyRequestObject) (api.UpgradeKeyResponseObject, error) {
	return nil, fault.New(fault.InternalError, "")
}
