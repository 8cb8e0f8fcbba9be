package main

import (
	"fmt"
	"os"

	"vqa/cmd/vqa/internal/settings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate CONFIG.GO CONFIGURATION.MD")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	source, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	document, err := settings.Document(source)
	if err != nil {
		return err
	}
	return os.WriteFile(to, document, 0o644) //nolint:gosec // a document that everybody may read
}
