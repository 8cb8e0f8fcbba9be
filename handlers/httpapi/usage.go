package httpapi

import (
	"context"

	"vqa/domain/credit"
	"vqa/handlers/httpapi/api"
)

// GetUsage answers GET /v1/usage. Test mode uses nothing up, so its meters stand still.
func (s *server) GetUsage(ctx context.Context, _ api.GetUsageRequestObject) (api.GetUsageResponseObject, error) {
	accountID, now := exchangeOf(ctx).caller.AccountID, s.Service.Now()
	balance, err := s.Ledger.Balance(ctx, accountID)
	if err != nil {
		return nil, err
	}
	created, err := s.Resources.AnalysesSince(ctx, accountID, credit.PeriodStart(now))
	if err != nil {
		return nil, err
	}
	limits := s.Service.Limits
	processed, resets := balance.UsedIn(credit.PeriodOf(now)), stamp(credit.PeriodEnd(now))
	period := func(name, unit string, used int64) api.Meter {
		return api.Meter{Meter: name, Unit: unit, Used: &used, ResetsAt: &resets}
	}
	seconds := period(credit.QuotaMeter, "seconds", processed)
	if limits.QuotaSecondsPerMonth > 0 {
		seconds.Limit = &limits.QuotaSecondsPerMonth
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
		},
		CreditsRemaining: &balance.PostedSeconds, CreditsUsed: &balance.UsedSeconds, SecondsProcessed: &processed,
		AnalysesCount: &created, PeriodEnd: &resets,
	}, nil
}
