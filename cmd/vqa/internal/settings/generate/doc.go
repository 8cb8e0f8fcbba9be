// Command generate writes docs/configuration.md. `go generate ./cmd/vqa` runs it.
package main
