// Command words checks how the project reads. It collects the comments and the texts
// that a person reads (errors, help, log lines, OpenAPI descriptions, documents), counts
// the lines that match a suspect pattern of docs/style.md, and draws comments and texts
// for a reader to judge. The seed is fixed, so that two readers judge the same draw.
//
//	go run ./docs/words                    the draw and the count of the whole project
//	go run ./docs/words -dir domain/query  the suspect lines of one folder
//
// It exits with 1 when more than 2 of 1,000 lines are suspect. It reads tracked files
// only and leaves generated files out. It imports the standard library only.
package main
