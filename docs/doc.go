// Package docs embeds the page of this folder that the service serves. Its tests check the links
// and citations of all documents.
//
// It imports the standard library only.
package docs

import _ "embed"

// Quickstart is quickstart.md: from nothing to an answer, in three languages. It names the
// service by the address http://127.0.0.1:8080.
//
//go:embed quickstart.md
var Quickstart string
