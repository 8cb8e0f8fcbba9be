package account

// Internals for the tests of this package.
var (
	EvolveKey   = evolveKey
	Exceeding   = exceeding
	TokenScopes = tokenScopes
)
