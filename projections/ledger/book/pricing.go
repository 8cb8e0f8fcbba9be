package book

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/shopspring/decimal"

	"vqa/domain/credit"
)

// Pricing is the price of work. Money is decimal, and seconds are whole numbers.
type Pricing struct {
	// PricePerSecondCents is the price of a credit-second in US cents, >= 0.
	PricePerSecondCents decimal.Decimal `json:"price_per_second_cents"`
	// BatchDiscountPct, from 0 to 100, replaces the discount of discounted work. nil keeps
	// each discount.
	BatchDiscountPct *int `json:"batch_discount_pct"`
	Analysis         Rule `json:"analysis"`
	Stream           Rule `json:"stream"`
}

// Rule converts the length of work into billed seconds.
type Rule struct {
	// Factor multiplies the seconds, 0 to 1000.
	Factor decimal.Decimal `json:"factor"`
	// MinimumSeconds is the smallest bill, 0 to 86400. Free work stays free.
	MinimumSeconds int64 `json:"minimum_seconds"`
	// RoundingSeconds is the step to which seconds are rounded up, 1 to 3600.
	RoundingSeconds int64 `json:"rounding_seconds"`
}

// The limits of a pricing.
const (
	maxFactor          = 1000
	maxMinimumSeconds  = 86_400
	maxRoundingSeconds = 3600
	// maxPriceCents keeps the sums short enough to read.
	maxPriceCents = 1_000_000
	// maxPlaces is the largest number of decimal places.
	maxPlaces = 12
)

// Same returns a pricing that bills the same seconds as today, at another price per second.
func Same(pricePerSecondCents decimal.Decimal) Pricing {
	rule := Rule{Factor: decimal.NewFromInt(1), RoundingSeconds: 1}
	return Pricing{PricePerSecondCents: pricePerSecondCents, Analysis: rule, Stream: rule}
}

// ParsePricing reads a pricing in JSON. Omitted fields keep the values of now. Errors name
// the field that is unknown or out of range.
func ParsePricing(file []byte, now Pricing) (Pricing, error) {
	p := now
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return Pricing{}, fmt.Errorf("there is no field %s; the fields are price_per_second_cents, batch_discount_pct, "+
				"analysis and stream, the latter two with factor, minimum_seconds and rounding_seconds", name)
		}
		return Pricing{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Pricing{}, errors.New("there is text after the JSON object; remove it")
	}
	return p, p.check()
}

func (p Pricing) check() error {
	within := func(name string, v decimal.Decimal, most int64) error {
		// The exponent is checked first, because comparing a huge one is slow.
		if v.Exponent() < -maxPlaces || v.Exponent() > maxPlaces || v.IsNegative() || v.GreaterThan(decimal.NewFromInt(most)) {
			return fmt.Errorf("%s must be 0 to %d with at most %d decimal places", name, most, maxPlaces)
		}
		return nil
	}
	err := within("price_per_second_cents", p.PricePerSecondCents, maxPriceCents)
	if d := p.BatchDiscountPct; d != nil && (*d < 0 || *d > 100) {
		err = errors.Join(err, errors.New("batch_discount_pct must be 0 to 100"))
	}
	for _, r := range []struct {
		name string
		Rule
	}{{"analysis", p.Analysis}, {"stream", p.Stream}} {
		err = errors.Join(err, within(r.name+".factor", r.Factor, maxFactor))
		if r.MinimumSeconds < 0 || r.MinimumSeconds > maxMinimumSeconds {
			err = errors.Join(err, fmt.Errorf("%s.minimum_seconds must be 0 to %d", r.name, maxMinimumSeconds))
		}
		if r.RoundingSeconds < 1 || r.RoundingSeconds > maxRoundingSeconds {
			err = errors.Join(err, fmt.Errorf("%s.rounding_seconds must be 1 to %d", r.name, maxRoundingSeconds))
		}
	}
	return err
}

// Seconds returns the seconds that this pricing bills or holds for work that was billed or
// held at the given seconds and discount. The full length of discounted work is the shortest
// length that gives these seconds.
func (p Pricing) Seconds(of credit.SourceType, seconds int64, discountPct int) int64 {
	if seconds <= 0 || discountPct >= 100 {
		return seconds
	}
	rule := p.Analysis
	if of == credit.SourceStream {
		rule = p.Stream
	}
	length := seconds
	if discountPct > 0 {
		share, discount := int64(100-discountPct), discountPct
		length = seconds/share*100 + (seconds%share*100+share-1)/share
		if p.BatchDiscountPct != nil {
			discount = *p.BatchDiscountPct
		}
		length = credit.Discounted(length, discount)
	}
	billed := decimal.NewFromInt(length).Mul(rule.Factor).Ceil().IntPart()
	billed = max(billed, rule.MinimumSeconds)
	return (billed + rule.RoundingSeconds - 1) / rule.RoundingSeconds * rule.RoundingSeconds
}

// Cents returns the price of seconds.
func (p Pricing) Cents(seconds int64) decimal.Decimal {
	return p.PricePerSecondCents.Mul(decimal.NewFromInt(seconds))
}
