// Package docs holds the pages of this folder that the service itself serves.
//
// It imports the standard library only.
package docs

import _ "embed"

// Quickstart is quickstart.md: the way from no key to an answer, in three languages. The
// service's address in it is http://127.0.0.1:8080.
//
//go:embed quickstart.md
var Quickstart string
