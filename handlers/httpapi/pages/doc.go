// Package pages renders the HTML pages: the documentation, the home page, the claim page, the pages on which
// people sign in, and the page /live, which sends live video.
//
// It does not handle requests. The operations of httpapi read the values of a page, call
// this package and send the page. No page runs an inline script or loads anything from
// another host, and no other site may frame one.
//
// The folder live has the page /live in TypeScript. "go generate" compiles it to assets/live, with the
// compiler of the TypeScript client. The result is committed, so the program needs no compiler.
//
// It may import domain/fault, domain/query, docs and handlers/httpapi/reference. It never
// imports httpapi or its edge.
package pages

//go:generate node ../clients/typescript/node_modules/typescript/bin/tsc -p live
