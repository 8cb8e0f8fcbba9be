// Package reference finds what renders the contract for people: Swagger UI, an npm package
// that is installed beside this file (`make setup`) and served by this service alone.
//
// # Why this one
//
// Three renderers of OpenAPI 3.1 that also send requests were compared as of November 2026,
// all under permissive licences (MIT, Apache-2.0) and all maintained. Swagger UI 5.35 comes
// as one package of two finished files, asks no other host for anything, and works under
// the content security policy of the page. Scalar 1.72 builds on 27 packages, an agent
// among them, and Elements 9.0 on a dozen with trees of their own. Swagger UI's only
// dependency reports installations from an install script; install scripts are never run
// here.
//
// It imports the standard library only.
package reference
