// Package reference finds the files of Swagger UI, which renders the contract as an API
// reference. `make setup` installs the npm package beside this file.
//
// # Why Swagger UI
//
// In November 2026, three renderers of OpenAPI 3.1 that can send requests were compared. All
// are maintained and have a permissive license (MIT, Apache-2.0). Swagger UI 5.35 is one
// package of two built files, loads nothing from other hosts, and works under the content
// security policy of the page. Scalar 1.72 depends on 27 packages, including an AI agent, and
// Elements 9.0 on a dozen with their own dependencies. The only dependency of Swagger UI
// has an install script that reports installations. `make setup` runs no install scripts.
//
// It imports the standard library only.
package reference
