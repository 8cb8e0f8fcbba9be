package book_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/domain/credit"
	"vqa/projections/ledger/book"
	"vqa/projections/ledger/internal/history"
)

var cents = decimal.RequireFromString

func TestParsePricing(t *testing.T) {
	t.Parallel()
	now := book.Same(cents("0.5"))
	p, err := book.ParsePricing([]byte(`{"price_per_second_cents": "0.45", "batch_discount_pct": 30,
		"analysis": {"minimum_seconds": 10, "rounding_seconds": 5}, "stream": {"factor": 1.5}}`), now)
	require.NoError(t, err)
	require.True(t, p.PricePerSecondCents.Equal(cents("0.45")))
	require.Equal(t, 30, *p.BatchDiscountPct)
	require.EqualValues(t, []int64{10, 5}, []int64{p.Analysis.MinimumSeconds, p.Analysis.RoundingSeconds})
	require.True(t, p.Analysis.Factor.Equal(cents("1")), "an omitted field is as now")
	require.True(t, p.Stream.Factor.Equal(cents("1.5")))
	for file, want := range map[string]string{
		`{"price": 1}`:                             `there is no field "price"; the fields are price_per_second_cents`,
		`{"analysis": {"minimum": 1}}`:             `there is no field "minimum"`,
		`{} {}`:                                    "there is text after the JSON object",
		`[]`:                                       "cannot unmarshal array",
		`{"price_per_second_cents": -1}`:           "price_per_second_cents must be 0 to 1000000",
		`{"price_per_second_cents": "1e9999"}`:     "price_per_second_cents must be 0 to 1000000",
		`{"price_per_second_cents": "cheap"}`:      "cheap",
		`{"batch_discount_pct": 101}`:              "batch_discount_pct must be 0 to 100",
		`{"batch_discount_pct": 12.5}`:             "batch_discount_pct",
		`{"analysis": {"factor": 1001}}`:           "analysis.factor must be 0 to 1000",
		`{"stream": {"rounding_seconds": 0}}`:      "stream.rounding_seconds must be 1 to 3600",
		`{"stream": {"minimum_seconds": 9999999}}`: "stream.minimum_seconds must be 0 to 86400",
		``: "EOF",
	} {
		_, err := book.ParsePricing([]byte(file), now)
		require.ErrorContains(t, err, want, file)
	}
}

func TestPricingSeconds(t *testing.T) {
	t.Parallel()
	thirty := 30
	p := book.Pricing{
		BatchDiscountPct: &thirty,
		Analysis:         book.Rule{Factor: cents("1.1"), MinimumSeconds: 20, RoundingSeconds: 10},
		Stream:           book.Rule{Factor: cents("1"), RoundingSeconds: 60},
	}
	for _, tt := range []struct {
		of       credit.SourceType
		seconds  int64
		discount int
		want     int64
	}{
		{credit.SourceAnalysis, 0, 0, 0},       // free stays free
		{credit.SourceAnalysis, 0, 100, 0},     // the length is not known
		{credit.SourceAnalysis, 1, 0, 20},      // the minimum
		{credit.SourceAnalysis, 20, 0, 30},     // 22, rounded up
		{credit.SourceAnalysis, 100, 0, 110},   // exact: no float
		{credit.SourceAnalysis, 50, 50, 80},    // 100 s long: 77
		{credit.SourceStream, 61, 0, 120},      // another rule
		{credit.SourceStream, 3, 0, 60},        //
		{credit.SourceAnalysis, 33, 67, 80},    // 100 s long again
		{credit.SourceAnalysis, 1000, 0, 1100}, //
	} {
		require.Equal(t, tt.want, p.Seconds(tt.of, tt.seconds, tt.discount), "%+v", tt)
	}
}

// TestSamePricing checks that the same pricing bills the same seconds with every discount.
func TestSamePricing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds, discount := rapid.Int64Range(0, 1<<40).Draw(t, "seconds"), rapid.IntRange(0, 100).Draw(t, "discount")
		source := rapid.SampledFrom([]credit.SourceType{credit.SourceAnalysis, credit.SourceStream}).Draw(t, "source")
		p := book.Same(cents("0.5"))
		require.Equal(t, seconds, p.Seconds(source, seconds, discount))
		p.BatchDiscountPct = &discount
		require.Equal(t, seconds, p.Seconds(source, seconds, discount))
	})
}

func TestWhatIf(t *testing.T) {
	t.Parallel()
	w, id := autumn(t)
	now := book.Same(cents("0.5"))
	whatIf := func(w *history.World, file string, accounts ...string) book.WhatIf {
		then, err := book.ParsePricing([]byte(file), now)
		require.NoError(t, err)
		out, err := open(t, w).WhatIf(t.Context(), now, then, append(accounts, "")[0], func() {})
		require.NoError(t, err)
		return out
	}
	bill := func(seconds int64, c string) book.Bill { return book.Bill{Seconds: seconds, Cents: cents(c)} }
	same := func(a, b decimal.Decimal) bool { return a.Equal(b) }

	// Work of 80 and 100 seconds was billed, and 30 of the 80 were refunded. The new
	// pricing bills twice the seconds at a lower price.
	got := whatIf(w, `{"price_per_second_cents": "0.3", "analysis": {"factor": 2}}`)
	require.Empty(t, cmp.Diff([]book.Repriced{{
		AccountID:     id,
		Comparison:    book.Comparison{Now: bill(150, "75"), Then: bill(300, "90"), Difference: bill(150, "15")},
		LowestSeconds: 5800, // 6000 less the first hold
	}}, got.Accounts, cmp.Comparer(same)))
	require.Empty(t, cmp.Diff(got.Accounts[0].Comparison, got.Total, cmp.Comparer(same)))

	// The price is so high that the first hold exceeds the balance.
	got = whatIf(w, `{"analysis": {"factor": 61}}`, id)
	require.Equal(t, 1, got.RanOut)
	require.Equal(t, day(10, 31, 23), *got.Accounts[0].RanOutAt)
	require.EqualValues(t, 6000-80*61+500-100*61, got.Accounts[0].LowestSeconds)

	many := history.New(t)
	many.Live(t, 5, 3, 120)
	unchanged := whatIf(many, `{}`)
	require.Empty(t, cmp.Diff(book.Bill{}, unchanged.Total.Difference, cmp.Comparer(same)))
	require.Zero(t, unchanged.RanOut, "no account ran out with the same pricing")
	require.Len(t, unchanged.Accounts, 3)
	balances, err := open(t, many).Balances(t.Context())
	require.NoError(t, err)
	for i, a := range balances.Accounts {
		require.Equal(t, a.Totals.AnalysisUsage+a.Totals.StreamUsage, unchanged.Accounts[i].Now.Seconds, "refunds considered")
		require.GreaterOrEqual(t, unchanged.Accounts[i].LowestSeconds, int64(0))
	}
}
