package probe

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"time"
)

// Movie is what an MP4 or QuickTime file says about itself.
type Movie struct {
	// ClaimedMicros is the length in the header, in microseconds, > 0. It is nil for an impossible
	// length. It is the duration in the movie header box. If that is 0, it is the duration in the
	// movie extends header box of a fragmented file (ISO/IEC 14496-12, 8.2.2 and 8.8.2).
	ClaimedMicros *int64
	// Track is the id of the track that is examined; 0 means the first video track.
	Track uint32
	// Codec is the name of the sample entry of the track, such as "avc1"; empty when unknown.
	Codec string
}

// CutError says that a file ends too early.
type CutError struct {
	// Bytes is the size of the file, Needed the size that it says it has.
	Bytes, Needed int64
	// Index is true when the end with the index is missing, without which nothing can be decoded.
	Index bool
}

// Error implements error.
func (e *CutError) Error() string {
	if e.Index {
		return fmt.Sprintf("The end of the file, with its index (moov), is missing: it has %d of %d bytes or more.", e.Bytes, e.Needed)
	}
	return fmt.Sprintf("The end of the file is missing: it has %d of %d bytes.", e.Bytes, e.Needed)
}

// Inspect reads the boxes of a file, without its frames. It returns a *CutError for a file that
// ends too early, video_unreadable with the reason for a file that cannot be a readable video, and
// another error when the file cannot be read. A file that it accepts may still be unreadable.
func Inspect(file io.ReadSeeker) (Movie, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return Movie{}, fmt.Errorf("probe: %w", err)
	}
	b := &boxes{file: file, until: time.Now().Add(walkTime)}
	whole := byteRange{0, size}
	layout := b.layout(whole)
	m := Movie{ClaimedMicros: b.claimed(layout.movie)}
	var track *track
	if layout.problem == nil {
		track, layout.problem = b.choose(layout)
	}
	switch {
	case b.err != nil:
		return Movie{}, b.err
	case layout.problem != nil:
		return Movie{}, layout.problem
	case track == nil: // a compressed index
		return m, nil
	}
	m.Track, m.Codec = track.id, track.codec
	if needed := b.end(layout, *track); b.err == nil && needed > size {
		return m, &CutError{Bytes: size, Needed: needed}
	}
	return m, b.err
}

// layout is the place of the boxes of a file.
type layout struct {
	movie byteRange
	// fragment is the last fragment of the movie.
	fragment box
	problem  error
}

func (b *boxes) layout(whole byteRange) layout {
	var l layout
	fragmented := false
	b.each(whole, func(found box) bool {
		cut := found.end > whole.to
		switch found.name {
		case "moov":
			if l.movie == (byteRange{}) {
				l.movie, fragmented = found.content, b.find(found.content, "mvex") != byteRange{}
			}
		case "moof":
			l.fragment = found
		}
		if cut && (found.name == "moov" || found.name == "moof" || found.name == "mdat" && l.movie == (byteRange{})) {
			l.problem = &CutError{whole.to, found.end, found.name != "moof"}
		}
		return l.movie == (byteRange{}) || fragmented
	})
	if l.movie != (byteRange{}) || l.problem != nil {
		return l
	}
	l.problem = unreadable("The file has no index (moov): its end is missing, or it was not finished. Upload the complete file.")
	if head := b.read(whole, sniffBytes); !isMovie(head) {
		l.problem = unreadable(otherFormat(head))
	}
	return l
}

func (b *boxes) claimed(movie byteRange) *int64 {
	fields, version, _ := b.table(b.find(movie, "mvhd"))
	width := 4
	if version == 1 {
		width = 8
	}
	fields.take(2 * width)
	scale, duration := fields.take(4), fields.take(width)
	if duration == 0 {
		fields, version, _ = b.table(b.within(movie, "mvex", "mehd"))
		if width = 4; version == 1 {
			width = 8
		}
		duration = fields.take(width)
	}
	return microsOf(duration, scale)
}

// microsOf returns nil for a length of 0 and for one that does not fit into an int64.
func microsOf(ticks, scale uint64) *int64 {
	high, low := bits.Mul64(ticks, 1e6)
	if high >= scale { // also a scale of 0
		return nil
	}
	quotient, _ := bits.Div64(high, low, scale)
	micros := int64(quotient) //nolint:gosec // a value above the range is negative and refused below
	if micros <= 0 {
		return nil
	}
	return &micros
}

// track is a video track.
type track struct {
	id        uint32
	enabled   bool
	codec     string
	encrypted bool
	// auxiliary is true for a track that only accompanies another one: thumbnails, depth, transparency.
	auxiliary bool
	// elsewhere is true when its frames are in another file.
	elsewhere bool
	tables    byteRange
}

const (
	// maxTracks bounds the tracks that are read. Cameras write fewer than 20.
	maxTracks = 1000
	// maxChapterBytes bounds the references of one track: 256 tracks of chapters.
	maxChapterBytes = 1 << 10
)

// choose returns the first enabled video track, as browsers do (ISO/IEC 14496-12, 8.3.2). When none
// is enabled, all count as enabled. It returns nil when the tracks cannot be read here.
func (b *boxes) choose(l layout) (*track, error) {
	var all []track
	var ids, chapters []uint32
	tracks := 0
	b.each(l.movie, func(found box) bool {
		if found.name != "trak" {
			return true
		}
		tracks++
		t, isVideo := b.track(found.content)
		ids = append(ids, t.id)
		for list := numbers(b.read(b.within(found.content, "tref", "chap"), maxChapterBytes)); len(list) > 0; {
			chapters = append(chapters, uint32(list.take(4))) //nolint:gosec // four bytes
		}
		if isVideo {
			all = append(all, t)
		}
		return tracks < maxTracks
	})
	if tracks == 0 && (b.find(l.movie, "cmov") != byteRange{}) {
		return nil, nil
	}
	main := slices.DeleteFunc(all, func(t track) bool { return t.auxiliary || slices.Contains(chapters, t.id) })
	if len(main) == 0 {
		return nil, unreadable("The file has no video stream.")
	}
	chosen := main[max(0, slices.IndexFunc(main, func(t track) bool { return t.enabled }))]
	if chosen.encrypted {
		return nil, unreadable("The video is encrypted (DRM). Upload a copy without encryption.")
	}
	if n := slices.Index(ids, chosen.id); slices.Contains(ids[n+1:], chosen.id) {
		chosen.id = 0 // not unique, so ffmpeg takes the first
	}
	return &chosen, nil
}

// track reads a track. It reports whether it is a video track.
func (b *boxes) track(trak byteRange) (t track, isVideo bool) {
	fields, version, flags := b.table(b.find(trak, "tkhd"))
	if fields.take(8); version == 1 {
		fields.take(8)
	}
	t.id, t.enabled = uint32(fields.take(4)), flags&1 != 0 //nolint:gosec // four bytes
	handler := b.read(b.within(trak, "mdia", "hdlr"), 12)
	for _, kind := range []string{"thmb", "auxl", "vdep", "vplx"} {
		t.auxiliary = t.auxiliary || b.within(trak, "tref", kind) != byteRange{}
	}
	media := b.within(trak, "mdia", "minf")
	t.tables = b.find(media, "stbl")
	b.each(skip(b.within(media, "dinf", "dref"), 8), func(found box) bool {
		_, _, flags := b.table(found.content)
		t.elsewhere = flags&1 == 0
		return false
	})
	b.each(skip(b.find(t.tables, "stsd"), 8), func(entry box) bool {
		if t.codec == "" {
			t.codec = entry.name
		}
		protected := b.find(skip(entry.content, visualEntryBytes), "sinf") != byteRange{}
		t.encrypted = t.encrypted || protected || entry.name == "encv" || entry.name == "drmi"
		return true
	})
	return t, len(handler) == 12 && string(handler[8:]) == "vide"
}

// visualEntryBytes is the part of a visual sample entry before its boxes.
const visualEntryBytes = 78

// skip leaves out the first bytes of a range.
func skip(in byteRange, n int64) byteRange { return byteRange{min(in.from+n, in.to), in.to} }
