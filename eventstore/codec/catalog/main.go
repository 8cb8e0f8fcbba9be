package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"vqa/eventstore/codec"
)

const (
	pagePath  = "docs/events.md"
	schemaDir = "docs/schemas/events"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: catalog ROOT")
		os.Exit(2)
	}
	if err := generate(codec.Events(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

// generate adds the missing schemas and rewrites the page. Errors: an event does not match its
// schema, and then nothing is written; the page cannot be made; a file cannot be written.
func generate(c *codec.Codec, root string) error {
	dir := filepath.Join(root, schemaDir)
	if err := addSchemas(c, dir); err != nil {
		return err
	}
	text, err := page(c, root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, pagePath), text, 0o644) //nolint:gosec // documentation is for everyone
}

// addSchemas writes the missing schema of each newest version.
func addSchemas(c *codec.Codec, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // documentation is for everyone
		return err
	}
	missing, err := c.CheckSchemas(os.DirFS(dir))
	if err != nil {
		return err
	}
	for _, stored := range missing {
		schema, err := c.Schema(stored)
		if err != nil {
			return err
		}
		if err := create(filepath.Join(dir, stored+".json"), schema); err != nil {
			return err
		}
	}
	return nil
}

// create writes a file that must not exist.
func create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // documentation is for everyone
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
