package export

import (
	"strings"

	"github.com/shopspring/decimal"
)

// Dollars is what credit-seconds cost at a price in US cents a second, exactly: with two
// decimals, or as many as the price needs. It begins with "$", or "-$".
func Dollars(seconds int64, centsPerSecond decimal.Decimal) string {
	places := max(2, 2-centsPerSecond.Exponent())
	text := decimal.NewFromInt(seconds).Mul(centsPerSecond).Shift(-2).StringFixed(places)
	if amount, negative := strings.CutPrefix(text, "-"); negative {
		return "-$" + amount
	}
	return "$" + text
}
