package main

import (
	"fmt"
	"io/fs"

	"vqa/handlers/httpapi/reference"
)

// renderer opens the program that renders the API reference at /docs. It is required only when
// VQA_REFERENCE_DIR is set.
func (s *server) renderer(c config) (fs.FS, error) {
	files, err := reference.Open(c.ReferenceDir)
	switch {
	case err == nil:
		return files, nil
	case c.ReferenceDir != "":
		return nil, fmt.Errorf("VQA_REFERENCE_DIR: %w", err)
	default:
		s.log.Warn("the API reference at /docs is not rendered", "reason", err.Error())
		return nil, nil
	}
}
