// Package fault is the one error type of the service and the closed registry of
// its codes (api-v1.md, "Errors"). Inside the program a rule that is broken
// returns a *Fault; handlers/httpapi is the only place that turns one into an HTTP
// response.
//
// It may import the standard library only.
package fault
