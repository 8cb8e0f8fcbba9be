package export

import (
	"strings"

	"github.com/shopspring/decimal"
)

// Dollars returns the exact price of credit-seconds at a price in US cents a second. It has
// two decimals, or as many as the price needs, and starts with "$" or "-$".
func Dollars(seconds int64, centsPerSecond decimal.Decimal) string {
	places := max(2, 2-centsPerSecond.Exponent())
	text := decimal.NewFromInt(seconds).Mul(centsPerSecond).Shift(-2).StringFixed(places)
	if amount, negative := strings.CutPrefix(text, "-"); negative {
		return "-$" + amount
	}
	return "$" + text
}
