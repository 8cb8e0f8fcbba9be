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

// recreators render the response of each idempotent operation anew, with its status, from
// the resource that the receipt names.
var recreators = map[string]func(s *server, ctx context.Context, x *edge.Exchange, resourceID string) (int, any, error){
	"createVideo":         (*server).recreateVideo,
	"createAnalysis":      (*server).recreateAnalysis,
	"createAnalysisBatch": (*server).recreateBatch,
	"rerunAnalysis":       (*server).recreateAnalysis,
	"createSandbox":       (*server).secretIsLost,
	"upgradeKey":          (*server).secretIsLost,
	"requestDeviceCode":   (*server).secretIsLost,
	"createApiKey":        (*server).secretIsLost,
	"rotateApiKey":        (*server).secretIsLost,
	"createClientToken":   (*server).secretIsLost,
}

// secretIsLost refuses to answer again with a secret that nobody kept: the program ended between
// the commit and the response. Error: resource_conflict.
func (*server) secretIsLost(_ context.Context, _ *edge.Exchange, resourceID string) (int, any, error) {
	made := "It"
	if id.Valid(id.Key, resourceID) {
		made = "It made " + resourceID + ", which you may revoke, but it"
	}
	return 0, nil, fault.New(fault.ResourceConflict, "The request was carried out. "+made+
		" was interrupted before its secret was shown. Send the request again with another Idempotency-Key.")
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
		return 0, nil, fmt.Errorf("operation %s has a receipt and no way to render it again", x.Operation())
	}
	status, resource, err := again(s, ctx, x, receipt.ResourceID)
	if err != nil {
		return 0, nil, err
	}
	body, err := json.Marshal(resource)
	return status, body, err
}
