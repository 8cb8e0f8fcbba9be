package seal

import (
	"fmt"
	"strings"

	"vqa/eventstore/translog"
)

// Finding says that the database or the anchors contradict the log. It stops sealing until an operator
// acts.
type Finding struct {
	// Problem describes the contradiction.
	Problem string
	// Stream, Version and Position name the row. They are empty when it is not a single row.
	Stream            string
	Version, Position int64
}

// Named returns the finding that names the event of a leaf.
func Named(l translog.Leaf, problem string) *Finding {
	return &Finding{Problem: problem, Stream: l.Stream, Version: l.Version, Position: l.Position}
}

// Error implements error.
func (f *Finding) Error() string {
	if f.Stream == "" && f.Position == 0 {
		return f.Problem
	}
	var row []string
	if f.Position > 0 {
		row = append(row, fmt.Sprintf("position %d", f.Position))
	}
	if f.Stream != "" {
		row = append(row, "stream "+f.Stream)
	}
	if f.Version > 0 {
		row = append(row, fmt.Sprintf("version %d", f.Version))
	}
	return strings.Join(row, ", ") + ": " + f.Problem
}
