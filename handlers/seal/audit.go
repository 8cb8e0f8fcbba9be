package seal

import (
	"context"

	"vqa/eventstore/translog"
)

// audit compares the whole database with the anchored tree. The caller holds s.pass.
func (s *Sealer) audit(ctx context.Context) error {
	if err := s.checkTables(ctx); err != nil {
		return err
	}
	newest := s.Newest()
	known := Head{Keys: newest.Keys, Openings: newest.Openings}
	h, err := s.anchored(ctx, known) // all checkpoints are listed
	if err != nil {
		return err
	}
	versions := newVersions(h.Opening.Number)
	err = s.comparison().Compare(ctx, h, func(_, _ int64, l translog.Leaf) {
		versions.add(l.Stream, l.Version)
		versions.position = l.Position
	})
	if err != nil {
		return err
	}
	if h.Signed != nil {
		s.versions = versions
	}
	if s.Audit == nil {
		return nil
	}
	problem, err := s.Audit(ctx)
	if err == nil && problem != "" {
		err = &Finding{Problem: problem}
	}
	return err
}

// compareRecent compares the records of the last bundle with their rows. Error: *Finding, which names the
// first row of the whole log that differs.
func (s *Sealer) compareRecent(ctx context.Context, h Head, records [][]byte, first int64) error {
	found, err := s.comparison().compare(ctx, records, first, 0)
	if err != nil || found == nil {
		return err
	}
	if err := s.trace(ctx, h); err != nil {
		return err
	}
	return found
}

// trace names the first leaf of a checkpoint whose row is missing or another one. Error: *Finding.
func (s *Sealer) trace(ctx context.Context, h Head) error {
	return s.comparison().trace(ctx, h.Opening.Number, h.Checkpoint.Tree, h.Checkpoint.Size)
}
