package record

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"vqa/domain/stream"
	"vqa/streaming/assemble"
)

const (
	// partSuffix and indexSuffix end the keys of a part and of its index.
	partSuffix, indexSuffix = ".h264", ".index"

	contentH264, contentMP4, contentIndex = "video/h264", "video/mp4", "application/octet-stream"
)

// The waits between two attempts, and the longest attempt. 8 MiB in 30 s is 2.2 Mbit/s.
const (
	firstBackOff = 200 * time.Millisecond
	maxBackOff   = 5 * time.Second
	attemptTime  = 30 * time.Second
)

func partKey(folder string, number int) string {
	return fmt.Sprintf("%s/part-%06d%s", folder, number, partSuffix)
}

func indexKey(partKey string) string { return strings.TrimSuffix(partKey, partSuffix) + indexSuffix }

// part is a part in memory.
type part struct {
	// began is the arrival of the first picture.
	began    time.Time
	pictures [][]byte
	entries  []entry
	size     int64
	// report is for Options.Stored. It is set when the part is complete.
	report stream.Part
	// indexed is true when the index is durable.
	indexed bool
}

func (p *part) add(at int64, data []byte) {
	p.pictures = append(p.pictures, data)
	p.entries = append(p.entries, entry{time: at, size: len(data)})
	p.size += int64(len(data))
}

// full reports whether the part ends before the picture.
func (p *part) full(next assemble.Picture, o Options) bool {
	return len(p.entries) == maxPictures || p.size+int64(len(next.Data)) > o.PartBytes || next.At.Sub(p.began) >= o.PartTime
}

// content reads the pictures without a copy of them.
func (p *part) content() io.Reader {
	readers := make([]io.Reader, len(p.pictures))
	for i, b := range p.pictures {
		readers[i] = bytes.NewReader(b)
	}
	return io.MultiReader(readers...)
}

// try stores a part, again and again until Patience is over.
func (r *Recorder) try(p *part) error {
	// Patience is real time, and does not depend on Options.Now.
	wait := firstBackOff
	for began := time.Now(); ; wait = min(2*wait, maxBackOff) {
		err := r.attempt(p)
		if err == nil {
			return nil
		}
		if r.ctx.Err() != nil || time.Since(began)+wait > r.options.Patience {
			return fmt.Errorf("record: part %d: %w", p.report.Number, err)
		}
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
		}
	}
}

// attempt stores the index, then the part. A part is reported only with its index.
func (r *Recorder) attempt(p *part) error {
	ctx, cancel := context.WithTimeout(r.ctx, attemptTime)
	defer cancel()
	if !p.indexed {
		index := formatIndex(p.entries)
		if err := r.options.Store.Put(ctx, indexKey(p.report.Key), contentIndex, bytes.NewReader(index), int64(len(index))); err != nil {
			return err
		}
		p.indexed = true
	}
	return r.options.Store.Put(ctx, p.report.Key, contentH264, p.content(), p.size)
}
