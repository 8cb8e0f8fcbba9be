package httpapi

import (
	"context"

	"vqa/domain/credit"
	"vqa/handlers/command"
	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// GetUsage answers GET /v1/usage. Test mode uses no credits, but its storage counts.
func (s *server) GetUsage(ctx context.Context, _ api.GetUsageRequestObject) (api.GetUsageResponseObject, error) {
	accountID, now := edge.ExchangeOf(ctx).Caller.AccountID, s.Service.Now()
	balance, err := s.Ledger.Balance(ctx, accountID)
	if err != nil {
		return nil, err
	}
	created, err := s.Resources.AnalysesSince(ctx, accountID, credit.PeriodStart(now))
	if err != nil {
		return nil, err
	}
	limits, tier := s.Service.Limits, edge.ExchangeOf(ctx).Caller.Tier
	stored, err := s.Service.StoredBytes(ctx, accountID, tier)
	if err != nil {
		return nil, err
	}
	processed, resets := balance.UsedIn(credit.PeriodOf(now)), stamp(credit.PeriodEnd(now))
	period := func(name, unit string, used int64) api.Meter {
		return api.Meter{Meter: name, Unit: unit, Used: &used, ResetsAt: &resets}
	}
	seconds := period(credit.QuotaMeter, "seconds", processed)
	if limits.QuotaSecondsPerMonth > 0 {
		seconds.Limit = &limits.QuotaSecondsPerMonth
	}
	storage := api.Meter{Meter: command.StorageMeter, Unit: "bytes", Used: &stored}
	if quota := limits.StorageOf(tier); quota > 0 {
		storage.Limit = &quota
	}
	return api.GetUsage200JSONResponse{
		Object: api.UsageMetersObjectUsage,
		Meters: []api.Meter{
			{Meter: "credit_seconds", Unit: "seconds", Balance: &balance.PostedSeconds},
			seconds,
			period("analyses.period", "analyses", created),
			{
				Meter: "analyses.active", Unit: "analyses", Used: new(int64(balance.OpenHolds(credit.SourceAnalysis))),
				Limit: new(int64(limits.MaxConcurrentAnalyses)),
			},
			storage,
		},
		CreditsRemaining: &balance.PostedSeconds, CreditsUsed: &balance.UsedSeconds, SecondsProcessed: &processed,
		AnalysesCount: &created, PeriodEnd: &resets,
	}, nil
}
