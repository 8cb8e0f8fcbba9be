// Package api is the server that oapi-codegen makes of ../openapi.yaml: types,
// routing and parameter binding. Nothing in it is written by hand but this file; to
// change it, change the contract and run go generate, which writes the types of the
// TypeScript client in ../clients/typescript too.
//
// It may import domain/query, whose Query is the wire form of a compiled query.
package api

//go:generate go tool oapi-codegen -config config.yaml ../openapi.yaml
//go:generate npm run --silent --prefix ../clients/typescript generate
