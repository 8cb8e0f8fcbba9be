package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/model"
	"vqa/domain/query"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

const robots = "User-agent: *\nAllow: /docs\nDisallow: /v1/\nDisallow: /objects/\n"

// CreateSandbox answers POST /v1/sandbox.
func (s *server) CreateSandbox(ctx context.Context, _ api.CreateSandboxRequestObject) (api.CreateSandboxResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	x.Header().Set("Cache-Control", "no-store")
	key, err := s.Service.IssueSandbox(ctx, command.Caller{RequestID: x.RequestID, Idempotency: x.Caller.Idempotency}, s.cappedAddress(x.Request))
	if err != nil {
		return nil, withSetting(err, fault.SandboxLimitExceeded, "VQA_SANDBOX_PER_IP")
	}
	out := api.CreateSandbox201JSONResponse{
		Object: api.SandboxKeyObjectSandboxKey, ApiKey: key.Secret, Mode: api.SandboxKeyMode(key.Mode),
		FixturePrompt: s.Fixture.Prompt, ExpectedAnswer: api.SandboxKeyExpectedAnswer(s.Service.Fixture.Answer(s.fixtureQuery).Answer),
		DocsUrl: s.url("/docs"),
		Note: "This test key answers questions about its fixture video with canned results and costs nothing. " +
			"Store it now: it is not shown again.",
	}
	out.Upgrade.Method, out.Upgrade.Url = api.POST, s.url("/v1/keys/upgrade")
	out.Upgrade.Instructions = "To ask about your own videos, send this request with the test key as bearer token. " +
		"It returns a live key with a free grant."
	if key.ExpiresAt != nil {
		out.ExpiresAt = stamp(*key.ExpiresAt)
	}
	if key.FixtureVideoID != "" {
		out.FixtureVideoId = &key.FixtureVideoID
	}
	return out, nil
}

// GetCredits answers GET /v1/credits.
func (s *server) GetCredits(ctx context.Context, r api.GetCreditsRequestObject) (api.GetCreditsResponseObject, error) {
	p := r.Params
	page := pageOf(p.Limit, p.StartingAfter, p.EndingBefore, p.CreatedAfter, p.CreatedBefore)
	accountID := edge.ExchangeOf(ctx).Caller.AccountID
	balance, err := s.Ledger.Balance(ctx, accountID)
	if err != nil {
		return nil, err
	}
	transactions, more, err := s.Ledger.Transactions(ctx, accountID, credit.Kind(given(p.Kind)), page)
	if err != nil {
		return nil, err
	}
	s.addCheckpoint(ctx)
	return api.GetCredits200JSONResponse(s.renderCredits(balance, transactions, more)), nil
}

// GetLedgerKeys answers GET /.well-known/vqa-ledger-keys.json.
func (s *server) GetLedgerKeys(ctx context.Context, _ api.GetLedgerKeysRequestObject) (api.GetLedgerKeysResponseObject, error) {
	known, err := s.Service.LedgerKeys(ctx)
	if err != nil {
		return nil, err
	}
	out := api.GetLedgerKeys200JSONResponse{Keys: make([]api.LedgerKey, len(known.Keys))}
	for i, k := range known.Keys {
		out.Keys[i] = api.LedgerKey{KeyId: k.KeyID, Algorithm: api.Ed25519, PublicKey: k.PublicKey, AddedAt: stamp(k.At)}
	}
	return out, nil
}

// GetCreditPricing answers GET /v1/credit-pricing.
func (s *server) GetCreditPricing(context.Context, api.GetCreditPricingRequestObject) (api.GetCreditPricingResponseObject, error) {
	p := s.Pricing
	return api.GetCreditPricing200JSONResponse{
		Object: api.CreditPricingObjectCreditPricing, PricePerSecondCents: number(p.PricePerSecondCents),
		SignupGrantSeconds: p.SignupGrantSeconds, CardGrantSeconds: p.CardGrantSeconds,
		AutoRefillThresholdSeconds: p.AutoRefillThresholdSeconds,
		AllowedPurchaseCents:       append([]int64{}, p.AllowedPurchaseCents...),
		CustomPurchaseEnabled:      p.CustomPurchaseEnabled, MinPurchaseCents: p.MinPurchaseCents,
		BatchDiscountPct: p.BatchDiscountPct, BatchMinPrompts: p.BatchMinPrompts, BatchMaxPrompts: p.BatchMaxPrompts,
	}, nil
}

// ListModels answers GET /v1/models.
func (s *server) ListModels(ctx context.Context, _ api.ListModelsRequestObject) (api.ListModelsResponseObject, error) {
	list := api.ModelList{Object: api.ModelListObjectList, Data: make([]api.Model, len(s.Service.Catalog))}
	for i, m := range s.Service.Catalog {
		if s.Vocabulary != nil && !m.Capabilities.OpenVocabulary {
			terms, ok := s.Vocabulary(ctx)
			m.Capabilities.Vocabulary, m.Capabilities.OpenVocabulary = terms, ok && len(terms) == 0
		}
		list.Data[i] = renderModel(m)
	}
	return api.ListModels200JSONResponse(list), nil
}

func renderModel(m model.Model) api.Model {
	c := m.Capabilities
	out := api.Model{
		Id: m.ID, Object: api.ModelObjectModel, Status: api.ModelStatus(m.Status), Default: m.Default,
		SunsetAt: stampOf(m.SunsetAt), CreatedAt: stamp(m.CreatedAt), Aliases: append([]string{}, m.Aliases...),
		Capabilities: api.Capabilities{
			Analyses: c.Analyses, Streams: c.Streams, Narrative: c.Narrative, Counting: c.Counting,
			Actions: api.CapabilitiesActions(c.Actions), OpenVocabulary: c.OpenVocabulary,
		},
	}
	if c.Vocabulary != nil {
		out.Capabilities.Vocabulary = new(slices.Clone(c.Vocabulary))
	}
	return out
}

// ListErrors answers GET /v1/errors.
func (s *server) ListErrors(context.Context, api.ListErrorsRequestObject) (api.ListErrorsResponseObject, error) {
	list := api.ErrorEntryList{Object: api.ErrorEntryListObjectList, Data: []api.ErrorEntry{}}
	for _, e := range fault.Registry() {
		entry := api.ErrorEntry{
			Code: string(e.Code), Kind: api.Resource, Retryable: e.Retryable, Idem: e.Idem, Message: e.Message,
			DocsUrl: s.url("/docs/errors#" + string(e.Code)),
		}
		if e.Status != 0 {
			entry.Kind, entry.Status = api.Http, new(e.Status)
		}
		list.Data = append(list.Data, entry)
	}
	return api.ListErrors200JSONResponse(list), nil
}

// fixturePath is the path of the fixture file.
const fixturePath = "/v1/test-fixture/video.mp4"

// GetTestFixture answers GET /v1/test-fixture. The result is what a test key gets from the
// default model.
func (s *server) GetTestFixture(context.Context, api.GetTestFixtureRequestObject) (api.GetTestFixtureResponseObject, error) {
	m, err := s.Service.Catalog.Resolve("", s.Service.Now())
	if err != nil {
		return nil, err
	}
	result := s.Service.Fixture.Answer(s.fixtureQuery)
	result.Receipt = answer.NewReceipt(m.ID, s.fixtureQuery)
	return api.GetTestFixture200JSONResponse{
		Object: api.TestFixtureObjectTestFixture, VideoUrl: s.url(fixturePath), Filename: s.Service.Fixture.Filename(),
		ContentType: api.TestFixtureContentTypeVideomp4, SizeBytes: int64(len(s.Fixture.Video)), Sha256: s.fixtureHash,
		DurationS: s.fixtureDurationS, Prompt: s.Fixture.Prompt,
		ExpectedAnswer: api.TestFixtureExpectedAnswer(result.Answer), ExpectedResult: s.renderResult(result),
	}, nil
}

// GetTestFixtureVideo answers GET /v1/test-fixture/video.mp4.
func (s *server) GetTestFixtureVideo(ctx context.Context, _ api.GetTestFixtureVideoRequestObject) (api.GetTestFixtureVideoResponseObject, error) {
	return servedBy{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		w.Header().Set("ETag", `"`+s.fixtureHash+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.Fixture.Video))
	}), request: edge.ExchangeOf(ctx).Request}, nil
}

// GetMetrics answers GET /metrics.
func (s *server) GetMetrics(ctx context.Context, _ api.GetMetricsRequestObject) (api.GetMetricsResponseObject, error) {
	return servedBy{handler: s.Metrics, request: edge.ExchangeOf(ctx).Request}, nil
}

// servedBy is a response that an http.Handler writes.
type servedBy struct {
	handler http.Handler
	request *http.Request
}

// VisitGetMetricsResponse implements api.GetMetricsResponseObject.
func (s servedBy) VisitGetMetricsResponse(w http.ResponseWriter) error {
	s.handler.ServeHTTP(w, s.request)
	return nil
}

// VisitGetTestFixtureVideoResponse implements api.GetTestFixtureVideoResponseObject.
func (s servedBy) VisitGetTestFixtureVideoResponse(w http.ResponseWriter) error {
	return s.VisitGetMetricsResponse(w)
}

// GetContract answers GET /v1/openapi.json.
func (s *server) GetContract(context.Context, api.GetContractRequestObject) (api.GetContractResponseObject, error) {
	return document(s.contract), nil
}

// GetQuerySchema answers GET /v1/schemas/compiled-query.json.
func (s *server) GetQuerySchema(context.Context, api.GetQuerySchemaRequestObject) (api.GetQuerySchemaResponseObject, error) {
	return document(query.Schema()), nil
}

// document is a response that is already JSON.
type document json.RawMessage

// VisitGetContractResponse implements api.GetContractResponseObject.
func (d document) VisitGetContractResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(d)
	return err
}

// VisitGetQuerySchemaResponse implements api.GetQuerySchemaResponseObject.
func (d document) VisitGetQuerySchemaResponse(w http.ResponseWriter) error {
	return d.VisitGetContractResponse(w)
}

// GetIndex answers GET / with a page for browsers and JSON for other clients.
func (s *server) GetIndex(ctx context.Context, _ api.GetIndexRequestObject) (api.GetIndexResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	x.Header().Add("Vary", "Accept")
	if prefersPage(x.Request.Header.Values("Accept")) {
		return s.home(ctx)
	}
	paths := map[string]string{ //nolint:gosec // G101 takes a path for a credential
		"openapi": "/v1/openapi.json", "compiled_query_schema": "/v1/schemas/compiled-query.json", "errors": "/v1/errors",
		"changelog": "/v1/changelog", "models": "/v1/models", "credit_pricing": "/v1/credit-pricing",
		"test_fixture": "/v1/test-fixture", "demo_videos": "/v1/demo-videos", "ledger_keys": "/.well-known/vqa-ledger-keys.json",
		"ledger_checkpoint": "/.well-known/vqa-ledger/checkpoint",
		"sandbox":           "/v1/sandbox", "agent_tools": edge.ToolsPath, "robots": "/robots.txt",
		"docs": "/docs", "docs_quickstart": "/docs/quickstart", "docs_questions": "/docs/questions", "docs_errors": "/docs/errors",
		"docs_changelog": "/docs/changelog", "health": "/healthz", "readiness": "/readyz", "metrics": "/metrics",
	}
	links := map[string]string{}
	for name, path := range paths {
		links[name] = s.url(path)
	}
	return api.GetIndex200JSONResponse{Object: api.IndexObjectIndex, Name: "vqa", Version: s.version, Links: links}, nil
}

// GetRobots answers GET /robots.txt.
func (s *server) GetRobots(context.Context, api.GetRobotsRequestObject) (api.GetRobotsResponseObject, error) {
	return api.GetRobots200TextResponse(robots), nil
}

// GetHealth answers GET /healthz.
func (s *server) GetHealth(context.Context, api.GetHealthRequestObject) (api.GetHealthResponseObject, error) {
	return api.GetHealth200JSONResponse{Status: api.Ok, Checks: map[string]string{}}, nil
}

// readyTimeout is the time limit of each readiness check.
const readyTimeout = 2 * time.Second

// GetReadiness answers GET /readyz. The response names the failing checks and the raised
// alarms, and the log has the reasons. An alarm leaves the service ready: another node would not
// work better. The checks run concurrently, so that several slow ones take no longer than
// one.
func (s *server) GetReadiness(ctx context.Context, _ api.GetReadinessRequestObject) (api.GetReadinessResponseObject, error) {
	errs := make([]error, len(s.Health))
	var running sync.WaitGroup
	for i, h := range s.Health {
		running.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, readyTimeout)
			defer cancel()
			errs[i] = h.Check(ctx)
		})
	}
	running.Wait()
	checks, failed := map[string]string{}, []string{}
	var first *fault.Fault
	for i, h := range s.Health {
		checks[h.Name] = "ok"
		if errs[i] == nil {
			continue
		}
		checks[h.Name] = "failed"
		if h.Advisory {
			if !errors.Is(errs[i], ErrUnchecked) {
				checks[h.Name] = cmp.Or(h.Degraded, "low")
			}
			continue
		}
		failed = append(failed, h.Name)
		if first == nil {
			first = h.asFault(ctx, errs[i])
		}
	}
	alarms := []string{}
	if s.Alarms != nil {
		alarms = append(alarms, s.Alarms()...)
	}
	s.readiness.note(ctx, s.Log, failed, errs)
	if first == nil {
		return api.GetReadiness200JSONResponse{Status: api.Ok, Checks: checks, Alarms: &alarms}, nil
	}
	edge.ExchangeOf(ctx).Probe = true
	return nil, fault.New(first.Code, "The service is not ready: "+strings.Join(failed, ", ")+".").
		WithDetail("checks", checks).WithDetail("alarms", alarms).WithCause(first)
}

// readiness is what the last probe of GET /readyz found.
type readiness struct {
	mu     sync.Mutex
	failed []string
	// started is true after the first probe that found the service ready.
	started bool
}

// note logs a change of the failed checks. Load balancers ask several times a second, so the requests
// themselves are not logged.
func (r *readiness) note(ctx context.Context, log *slog.Logger, failed []string, errs []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Equal(failed, r.failed) && (r.started || len(failed) > 0) || ctx.Err() != nil { // a client that left finds nothing
		return
	}
	r.failed = failed
	switch {
	case len(failed) == 0:
		r.started = true
		log.InfoContext(ctx, "the service is ready")
		return
	case !r.started: // parts that still load are no reason for a warning
		log.InfoContext(ctx, "the service is starting", "waiting_for", strings.Join(failed, ", "))
		return
	}
	log.WarnContext(ctx, "the service is not ready", "failed", strings.Join(failed, ", "), "error", errors.Join(errs...))
}

// asFault returns a fault with status 503 for the failure of a check.
func (h HealthCheck) asFault(ctx context.Context, err error) *fault.Fault {
	f := edge.AsFault(ctx, err)
	if fault.Lookup(f.Code).Status == http.StatusServiceUnavailable {
		return f
	}
	return fault.New(cmp.Or(h.Code, fault.CapacityExhausted), "").WithCause(err)
}
