// Package api contains the server that oapi-codegen generates from ../openapi.yaml: types,
// routing and parameter binding. Only this file is written by hand. To change the package,
// change the contract and run go generate, which also writes the types of the TypeScript
// client in ../clients/typescript.
//
// It may import domain/query: its Query is the JSON form of a compiled query.
package api

//go:generate go tool oapi-codegen -config config.yaml ../openapi.yaml
//go:generate npm run --silent --prefix ../clients/typescript generate
