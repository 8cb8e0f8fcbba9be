package credit

// Discounted returns a price in seconds after a discount of pct percent (0 to 100), rounded
// down to a whole second, so that a discount never gives less than it says
// (docs/contract.md#billed-seconds).
func Discounted(seconds int64, pct int) int64 {
	// The product is computed in two parts, so that it cannot overflow.
	share := int64(100 - pct)
	return seconds/100*share + seconds%100*share/100
}
