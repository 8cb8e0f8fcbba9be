package record

// Entry is an entry of an index.
type Entry struct {
	Time int64
	Size int
}

// ParseIndex calls parseIndex.
func ParseIndex(b []byte) ([]Entry, error) {
	entries, err := parseIndex(b)
	var out []Entry
	for _, e := range entries {
		out = append(out, Entry{Time: e.time, Size: e.size})
	}
	return out, err
}

// FormatIndex calls formatIndex.
func FormatIndex(entries []Entry) []byte {
	var in []entry
	for _, e := range entries {
		in = append(in, entry{time: e.Time, size: e.Size})
	}
	return formatIndex(in)
}
