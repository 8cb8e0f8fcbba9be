// Package fault defines the one error type of the service and the closed registry of its
// codes (docs/contract.md#errors). A broken rule returns a *Fault. Only handlers/httpapi
// turns a Fault into an HTTP response.
//
// It may import the standard library only.
package fault
