// Package model is the catalog of models a question may name, and the rule that
// resolves a name to one of them (api-v1.md, "Model" and "Versioning").
//
// It may import the standard library and domain/fault.
package model
