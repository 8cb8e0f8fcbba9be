package record

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"vqa/domain/stream"
	"vqa/streaming/assemble"
)

// Open reads the parts as one Annex-B stream. It opens each part when the one before it has ended. The
// caller must call Close.
func Open(ctx context.Context, store Store, parts []stream.Part) io.ReadCloser {
	return &reader{ctx: ctx, store: store, parts: parts}
}

// reader reads parts one after the other. It is for one goroutine.
type reader struct {
	ctx   context.Context //nolint:containedctx // io.Reader has no context
	store Store
	parts []stream.Part // the first one is open unless part is nil
	part  io.ReadCloser
	left  int64 // bytes of the open part
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	for r.part == nil || r.left == 0 {
		if err := r.Close(); err != nil {
			return 0, err
		}
		if len(r.parts) == 0 {
			return 0, io.EOF
		}
		part, err := r.store.Reader(r.ctx, r.parts[0].Key)
		if err != nil {
			return 0, fmt.Errorf("record: part %d: %w", r.parts[0].Number, err)
		}
		r.part, r.left = part, r.parts[0].SizeBytes
		r.parts = r.parts[1:]
	}
	n, err := r.part.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && r.left > 0:
		return n, fmt.Errorf("record: a part lacks its last %d bytes: %w", r.left, io.ErrUnexpectedEOF)
	case errors.Is(err, io.EOF):
		return n, nil
	}
	return n, err
}

// Close closes the open part.
func (r *reader) Close() error {
	part := r.part
	r.part = nil
	if part == nil {
		return nil
	}
	return part.Close()
}

// readIndex reads the index of a part and compares it with the report of the part.
func readIndex(ctx context.Context, store Store, p stream.Part) ([]entry, error) {
	r, err := store.Reader(ctx, indexKey(p.Key))
	if err != nil {
		return nil, fmt.Errorf("record: index of part %d: %w", p.Number, err)
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(io.LimitReader(r, int64(maxIndex)+1))
	if err != nil {
		return nil, fmt.Errorf("record: index of part %d: %w", p.Number, err)
	}
	entries, err := parseIndex(b)
	if err != nil {
		return nil, fmt.Errorf("part %d: %w", p.Number, err)
	}
	size := int64(0)
	for _, e := range entries {
		size += int64(e.size)
	}
	if size != p.SizeBytes || int64(len(entries)) != p.Frames {
		return nil, fmt.Errorf("part %d: %w: it describes %d pictures with %d bytes instead of %d with %d",
			p.Number, errIndex, len(entries), size, p.Frames, p.SizeBytes)
	}
	return entries, nil
}

// writeIVF writes the pictures with their times as an IVF stream.
func writeIVF(ctx context.Context, store Store, parts []stream.Part, to io.Writer) error {
	out := bufio.NewWriterSize(to, 64<<10)
	// The size is that of the parameter sets. A writer keeps its first error for Flush.
	_, _ = out.Write(ivfHeader())
	in := Open(ctx, store, parts)
	defer func() { _ = in.Close() }()
	for _, p := range parts {
		entries, err := readIndex(ctx, store, p)
		if err != nil {
			return err
		}
		for _, e := range entries {
			var head []byte
			head = binary.LittleEndian.AppendUint32(head, uint32(e.size)) //nolint:gosec // a picture has 4 MiB at most
			head = binary.LittleEndian.AppendUint64(head, uint64(e.time)) //nolint:gosec // a time is not negative
			if _, err := out.Write(head); err != nil {
				return fmt.Errorf("record: %w", err)
			}
			if _, err := io.CopyN(out, in, int64(e.size)); err != nil {
				return fmt.Errorf("record: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// ivfHeader returns the header of an IVF stream with H.264.
func ivfHeader() []byte {
	h := append([]byte("DKIF\x00\x00\x20\x00H264"), 0, 0, 0, 0)
	h = binary.LittleEndian.AppendUint32(h, assemble.ClockRate)
	h = binary.LittleEndian.AppendUint32(h, 1)
	return binary.LittleEndian.AppendUint64(h, 0)
}
