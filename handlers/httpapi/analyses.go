package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"vqa/domain/analysis"
	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/domain/model"
	"vqa/domain/query"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
	"vqa/projections"
	"vqa/projections/resources"
)

// ListAnalyses answers GET /v1/analyses.
func (s *server) ListAnalyses(ctx context.Context, r api.ListAnalysesRequestObject) (api.ListAnalysesResponseObject, error) {
	p := r.Params
	filter, page := s.analysisFilter(p.Status, p.Model), pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	if p.VideoId != nil {
		list, err := s.listAnalysesOf(ctx, "video_id", *p.VideoId, filter, page)
		return api.ListAnalyses200JSONResponse(list), err
	}
	list, err := s.listAnalyses(ctx, filter, page)
	return api.ListAnalyses200JSONResponse(list), err
}

// ListVideoAnalyses answers GET /v1/videos/{id}/analyses.
func (s *server) ListVideoAnalyses(ctx context.Context, r api.ListVideoAnalysesRequestObject) (api.ListVideoAnalysesResponseObject, error) {
	p := r.Params
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	list, err := s.listAnalysesOf(ctx, "id", r.Id, s.analysisFilter(p.Status, p.Model), page)
	return api.ListVideoAnalyses200JSONResponse(list), err
}

// listAnalysesOf lists the analyses of a video, for both paths (docs/contract.md#lists).
// param is the name of the parameter with the video's id. Error: resource_not_found for a
// video that the caller does not have, or has deleted.
func (s *server) listAnalysesOf(ctx context.Context, param, videoID string, f resources.AnalysisFilter, page projections.Page) (api.AnalysisList, error) {
	_, err := s.ownVideo(ctx, videoID)
	if fault.Has(err, fault.ResourceNotFound) {
		return api.AnalysisList{}, fault.NotFound(param, videoID)
	}
	if err != nil {
		return api.AnalysisList{}, err
	}
	f.VideoID = videoID
	return s.listAnalyses(ctx, f, page)
}

// analysisFilter reads the filters that both lists of analyses have.
func (s *server) analysisFilter(status *api.AnalysisStatus, model *string) resources.AnalysisFilter {
	name := given(model)
	// An alias is replaced by its model. Other names are not checked, so that analyses by a
	// removed model can still be listed.
	if m, found := s.Service.Catalog.Find(name); found && name != "" {
		name = m.ID
	}
	return resources.AnalysisFilter{Model: name, Status: analysis.Status(given(status))}
}

func (s *server) listAnalyses(ctx context.Context, f resources.AnalysisFilter, page projections.Page) (api.AnalysisList, error) {
	analyses, more, err := s.Resources.Analyses(ctx, edge.ExchangeOf(ctx).Tenant(), f, page)
	if err != nil {
		return api.AnalysisList{}, err
	}
	list := api.AnalysisList{Object: api.AnalysisListObjectList, Data: make([]api.Analysis, len(analyses)), HasMore: more}
	for i, a := range analyses {
		list.Data[i] = s.renderAnalysis(ctx, a)
	}
	return list, nil
}

// CreateAnalysis answers POST /v1/analyses. The edge has checked the body.
func (s *server) CreateAnalysis(ctx context.Context, r api.CreateAnalysisRequestObject) (api.CreateAnalysisResponseObject, error) {
	wait := edge.PreferredWait(r.Params.Prefer)
	c, err := createAnalysis(*r.Body)
	if err != nil {
		return nil, err
	}
	x := edge.ExchangeOf(ctx)
	if err := s.checkReadable(ctx, c.VideoID); err != nil {
		return nil, err
	}
	plan, err := s.Service.CreateAnalysis(ctx, x.Caller, c)
	if err != nil {
		return nil, err
	}
	warnOfAlias(x, c.Model, plan.Analysis.Model)
	if c.ValidateOnly {
		x.NothingStored = true
		var out api.AnalysisOrPreview
		err := out.FromAnalysisPreview(s.renderPreview(ctx, plan))
		return api.CreateAnalysis200JSONResponse(out), err
	}
	a := s.readBack(ctx, x, plan.Analysis)
	if wait > 0 && !a.Status.Terminal() {
		x.Recorded(ctx, http.StatusAccepted, s.renderAnalysis(ctx, a))
		a = s.await(ctx, x, a, wait)
	}
	if wait > 0 {
		x.Header().Set("Preference-Applied", fmt.Sprintf("wait=%.0f", wait.Seconds()))
	}
	// A request with a test key is answered at once. A live one must ask with Prefer: wait.
	if a.Status.Terminal() && (wait > 0 || !x.Caller.Livemode) {
		var out api.AnalysisOrPreview
		err := out.FromAnalysis(s.renderAnalysis(ctx, a))
		return api.CreateAnalysis200JSONResponse(out), err
	}
	return api.CreateAnalysis202JSONResponse(s.renderAnalysis(ctx, a)), nil
}

// checkReadable refuses questions about a video that the client token of the request may not read. The commands check
// everything else. Error: resource_not_found.
func (s *server) checkReadable(ctx context.Context, videoID string) error {
	if edge.ExchangeOf(ctx).Tenant().TokenID == "" {
		return nil
	}
	_, err := s.ownVideo(ctx, videoID)
	if fault.Has(err, fault.ResourceNotFound) {
		return fault.NotFound("video_id", videoID)
	}
	return err
}

// createAnalysis makes the command from a checked body.
func createAnalysis(body api.CreateAnalysisRequest) (command.CreateAnalysis, error) {
	c := command.CreateAnalysis{VideoID: body.VideoId, Prompt: body.Prompt}
	if body.Query != nil {
		q, err := query.Decode(body.Query)
		if err != nil {
			return c, err
		}
		c.Query = &q
	}
	c.Model, c.Metadata, c.ValidateOnly = given(body.Model), given(body.Metadata), given(body.ValidateOnly)
	c.Webhook = override(body.Webhook)
	if body.Options != nil {
		c.Narrative = given(body.Options.Narrative)
	}
	return c, nil
}

// override returns the webhook override of a request, or nil.
func override(w *api.WebhookOverride) *analysis.Webhook {
	if w == nil {
		return nil
	}
	out := &analysis.Webhook{URL: w.Url}
	for _, t := range given(w.Events) {
		out.Events = append(out.Events, string(t))
	}
	return out
}

// given returns the value of an optional field, or its zero value.
func given[T any](field *T) T {
	if field == nil {
		var zero T
		return zero
	}
	return *field
}

// warnOfAlias adds a deprecation header if a request named its model by an alias.
func warnOfAlias(x *edge.Exchange, requested, canonical string) {
	if requested == "" || strings.EqualFold(requested, canonical) || strings.EqualFold(requested, model.Latest) {
		return
	}
	x.Deprecated(edge.DeprecatedModelAliases)
}

// RerunAnalysis answers POST /v1/analyses/{id}/rerun.
func (s *server) RerunAnalysis(ctx context.Context, r api.RerunAnalysisRequestObject) (api.RerunAnalysisResponseObject, error) {
	if _, err := s.ownAnalysis(ctx, r.Id); err != nil {
		return nil, err
	}
	x := edge.ExchangeOf(ctx)
	created, err := s.Service.RerunAnalysis(ctx, x.Caller, r.Id)
	if err != nil {
		return nil, err
	}
	return api.RerunAnalysis202JSONResponse(s.renderAnalysis(ctx, s.readBack(ctx, x, created))), nil
}

// readBack reads a created analysis with its queue position. If the read fails, it returns
// the analysis as it was created, because the caller must not repeat the request.
func (s *server) readBack(ctx context.Context, x *edge.Exchange, created analysis.State) resources.Analysis {
	if created.Status.Terminal() {
		return resources.Analysis{State: created}
	}
	read, err := s.Resources.Analysis(ctx, x.Tenant(), created.ID)
	if err != nil {
		s.Log.WarnContext(ctx, "cannot read the created analysis", "request_id", x.RequestID, "error", err.Error())
		return resources.Analysis{State: created}
	}
	return read
}

// GetAnalysis answers GET /v1/analyses/{id}.
func (s *server) GetAnalysis(ctx context.Context, r api.GetAnalysisRequestObject) (api.GetAnalysisResponseObject, error) {
	a, err := s.ownAnalysis(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	return api.GetAnalysis200JSONResponse(s.renderAnalysis(ctx, a)), nil
}

// CancelAnalysis answers POST /v1/analyses/{id}/cancel.
func (s *server) CancelAnalysis(ctx context.Context, r api.CancelAnalysisRequestObject) (api.CancelAnalysisResponseObject, error) {
	if _, err := s.ownAnalysis(ctx, r.Id); err != nil {
		return nil, err
	}
	a, err := s.Service.CancelAnalysis(ctx, edge.ExchangeOf(ctx).Caller, r.Id)
	if err != nil {
		return nil, err
	}
	return api.CancelAnalysis200JSONResponse(s.renderAnalysis(ctx, resources.Analysis{State: a})), nil
}

// ownAnalysis reads an analysis of the caller. A malformed id reads as unknown. Every
// operation on an id starts with such a read, so that the id of another account and an
// unknown id take the same time.
func (s *server) ownAnalysis(ctx context.Context, analysisID string) (resources.Analysis, error) {
	if !id.Valid(id.Analysis, analysisID) {
		return resources.Analysis{}, fault.NotFound("id", analysisID)
	}
	return s.Resources.Analysis(ctx, edge.ExchangeOf(ctx).Tenant(), analysisID)
}
