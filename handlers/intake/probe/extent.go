package probe

import "slices"

// end is the place after the last frame of a track, according to its tables. It is 0 when they do
// not say.
func (b *boxes) end(l layout, t track) int64 {
	if t.elsewhere {
		return 0
	}
	end := b.tablesEnd(t.tables)
	if l.fragment.end > 0 {
		end = max(end, b.fragmentEnd(l, t.id))
	}
	return end
}

// tablesEnd is the end of the last chunk (ISO/IEC 14496-12, 8.7).
func (b *boxes) tablesEnd(tables byteRange) int64 {
	sizes := b.sampleSizes(tables)
	chunks, _, _ := b.table(b.find(tables, "stco"))
	width := 4
	if len(chunks) == 0 {
		chunks, _, _ = b.table(b.find(tables, "co64"))
		width = 8
	}
	chunks.take(4)
	runs, _, _ := b.table(b.find(tables, "stsc"))
	runs.take(4)
	var end int64
	perChunk, nextRun, nextPerChunk := uint64(0), runs.take(4), runs.take(4)
	runs.take(4)
	for chunk := uint64(1); len(chunks) >= width; chunk++ {
		if chunk == nextRun {
			perChunk, nextRun, nextPerChunk = nextPerChunk, runs.take(4), runs.take(4)
			runs.take(4)
		}
		at := int64(min(chunks.take(width), 1<<61)) //nolint:gosec // at most 1<<61
		length := sizes(perChunk)
		if length > 0 {
			end = max(end, at+length)
		}
	}
	return end
}

// sampleSizes returns a function that takes the next samples and returns their length together.
func (b *boxes) sampleSizes(tables byteRange) func(samples uint64) int64 {
	list, _, _ := b.table(b.find(tables, "stsz"))
	same, width := list.take(4), 4
	if len(list) == 0 {
		list, _, _ = b.table(b.find(tables, "stz2"))
		width = int(list.take(4)&0xff) / 8 // 4 bits are for sound
	}
	count := list.take(4)
	return func(samples uint64) int64 {
		samples = min(samples, count)
		count -= samples
		length := int64(same * samples) //nolint:gosec // at most 1<<64; a nonsensical file has any end
		for range samples {
			if same > 0 || width == 0 || len(list) < width {
				break
			}
			length += int64(list.take(width)) //nolint:gosec // at most four bytes
		}
		return length
	}
}

// The flags of a track fragment and its runs (ISO/IEC 14496-12, 8.8.7 and 8.8.8).
const (
	hasBase          = 0x1
	hasDescription   = 0x2
	hasDuration      = 0x8
	hasSize          = 0x10
	hasOffset        = 0x1
	hasFirstFlags    = 0x4
	hasSampleTime    = 0x100
	hasSampleSize    = 0x200
	hasSampleFlags   = 0x400
	hasSampleOffsets = 0x800
)

// fragmentEnd is the end of the last sample of a track in the last fragment of a file.
func (b *boxes) fragmentEnd(l layout, id uint32) int64 {
	place, end := l.fragment.at, int64(0)
	b.each(l.fragment.content, func(traf box) bool {
		if traf.name != "traf" {
			return true
		}
		header, _, flags := b.table(b.find(traf.content, "tfhd"))
		track := uint32(header.take(4)) //nolint:gosec // four bytes
		base := l.fragment.at
		if flags&hasBase != 0 {
			base = int64(min(header.take(8), 1<<61)) //nolint:gosec // at most 1<<61
		}
		for _, field := range []uint64{hasDescription, hasDuration} {
			if flags&field != 0 {
				header.take(4)
			}
		}
		size := header.take(4)
		if flags&hasSize == 0 {
			size = b.defaultSize(l.movie, track)
		}
		b.each(traf.content, func(run box) bool {
			if run.name == "trun" {
				place = b.runEnd(run.content, base, place, size)
			}
			return true
		})
		if track == id || id == 0 {
			end = max(end, place)
		}
		return true
	})
	return end
}

// runEnd is the end of a run of samples. It begins at place unless it has an offset from base.
func (b *boxes) runEnd(run byteRange, base, place int64, size uint64) int64 {
	fields, _, flags := b.table(run)
	count := fields.take(4)
	if flags&hasOffset != 0 {
		place = base + int64(int32(uint32(fields.take(4)))) //nolint:gosec // four bytes with a sign
	}
	if flags&hasFirstFlags != 0 {
		fields.take(4)
	}
	perSample := []uint64{hasSampleTime, hasSampleSize, hasSampleFlags, hasSampleOffsets}
	perSample = slices.DeleteFunc(perSample, func(field uint64) bool { return flags&field == 0 })
	if flags&hasSampleSize == 0 {
		return place + int64(count*size) //nolint:gosec // four bytes each; a nonsensical file has any end
	}
	for ; count > 0 && len(fields) > 0; count-- {
		for _, field := range perSample {
			if value := fields.take(4); field == hasSampleSize {
				place += int64(value) //nolint:gosec // four bytes
			}
		}
	}
	return place
}

// defaultSize is the size of the samples of a track that its fragments do not say.
func (b *boxes) defaultSize(movie byteRange, id uint32) uint64 {
	var size uint64
	b.each(b.find(movie, "mvex"), func(extends box) bool {
		if fields, _, _ := b.table(extends.content); extends.name == "trex" && fields.take(4) == uint64(id) {
			fields.take(8)
			size = fields.take(4)
			return false
		}
		return true
	})
	return size
}
