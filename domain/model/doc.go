// Package model is the catalog of the models that an analysis may name, and the rule that
// resolves a name to one of them (docs/contract.md#models).
//
// It may import the standard library and domain/fault.
package model
