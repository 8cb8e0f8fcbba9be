package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/eventstore"
	"vqa/handlers/httpapi/edge"
)

// recreators render the response of each idempotent operation again, with its status, from
// the resource in the receipt.
var recreators = map[string]func(s *server, ctx context.Context, x *edge.Exchange, resourceID string) (int, any, error){
	"createVideo":         (*server).recreateVideo,
	"createAnalysis":      (*server).recreateAnalysis,
	"createStream":        (*server).recreateStream,
	"createAnalysisBatch": (*server).recreateBatch,
	"rerunAnalysis":       (*server).recreateAnalysis,
	"createSandbox":       (*server).secretLost,
	"upgradeKey":          (*server).secretLost,
	"requestDeviceCode":   (*server).secretLost,
	"createApiKey":        (*server).secretLost,
	"rotateApiKey":        (*server).secretLost,
	"createClientToken":   (*server).secretLost,

	"createWebhookEndpoint": (*server).endpointSecretLost,
	"rotateWebhookSecret":   (*server).endpointSecretLost,
}

// secretLost refuses a replay whose response had a secret: the server stopped between the
// commit and the response, and the secret itself is not stored. Error: resource_conflict.
func (*server) secretLost(_ context.Context, _ *edge.Exchange, resourceID string) (int, any, error) {
	revoke := ""
	if id.Valid(id.Key, resourceID) {
		revoke = "Revoke " + resourceID + ", which it created. "
	}
	return 0, nil, fault.New(fault.ResourceConflict, "The first request was interrupted before its secret was sent. "+
		revoke+"Send the request again with another Idempotency-Key.")
}

// endpointSecretLost is secretLost for a webhook endpoint, whose secret can be replaced. Error:
// resource_conflict.
func (*server) endpointSecretLost(_ context.Context, _ *edge.Exchange, endpointID string) (int, any, error) {
	return 0, nil, fault.Newf(fault.ResourceConflict, "The first request was interrupted before its secret was sent. "+
		"Get another secret with POST /v1/webhook_endpoints/%s/rotate_secret.", endpointID)
}

func (s *server) recreateVideo(ctx context.Context, x *edge.Exchange, videoID string) (int, any, error) {
	v, err := s.Resources.Video(ctx, x.Tenant(), videoID)
	if err != nil {
		return 0, nil, err
	}
	resource, err := s.renderVideo(ctx, v)
	return http.StatusCreated, resource, err
}

func (s *server) recreateAnalysis(ctx context.Context, x *edge.Exchange, analysisID string) (int, any, error) {
	a, err := s.Resources.Analysis(ctx, x.Tenant(), analysisID)
	if err != nil {
		return 0, nil, err
	}
	status := http.StatusAccepted
	if !a.Livemode && x.Operation() == "createAnalysis" {
		status = http.StatusOK
	}
	return status, s.renderAnalysis(ctx, a), nil
}

// Recreate implements edge.Operations.
func (s *server) Recreate(ctx context.Context, x *edge.Exchange, receipt eventstore.Receipt) (int, []byte, error) {
	again, known := recreators[x.Operation()]
	if !known {
		return 0, nil, fmt.Errorf("cannot render the response of operation %s again", x.Operation())
	}
	status, resource, err := again(s, ctx, x, receipt.ResourceID)
	if err != nil {
		return 0, nil, err
	}
	body, err := json.Marshal(resource)
	return status, body, err
}
