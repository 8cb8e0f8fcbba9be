package translog

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is the SHA-256 of a leaf or of a node of a tree.
type Hash = tlog.Hash

// ParseHash parses the standard base64 form of a hash, which Hash.String returns.
func ParseHash(text string) (Hash, error) { return tlog.ParseHash(text) }

// ChainSize is the number of bytes of the chain of a stream.
const ChainSize = 32

// The first part of each kind of record. It names the format, so that no record can stand for one of
// another kind.
const (
	leafFormat    = "vqa-leaf-1"
	accountFormat = "vqa-account-1"
	restartFormat = "vqa-restart-1"
)

// TimeFormat is the form of a time in a record: UTC with microseconds, the precision of Postgres.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// Leaf is an event as the log commits to it.
type Leaf struct {
	// Position is the place in the log of events, > 0.
	Position int64
	// RecordedAt is the time of the append. Records have microseconds.
	RecordedAt time.Time
	// Stream is the name of the stream, "category/id".
	Stream string
	// Version is the place in the stream, from 1.
	Version int64
	// Chain is the hash chain of the stream up to this event.
	Chain [ChainSize]byte
}

// Record returns the bytes of the leaf: netstrings (the length in bytes, a colon, the bytes) of the
// format, the position, the time, the stream, the version, and the chain in hexadecimal.
func (l Leaf) Record() []byte {
	var position, at, version, chain [2 * ChainSize]byte // on the stack: the sealer makes many records
	out := make([]byte, 0, mostLeaf+len(l.Stream))
	out = netstring(out, leafFormat)
	out = netstring(out, strconv.AppendInt(position[:0], l.Position, 10))
	out = netstring(out, l.RecordedAt.UTC().AppendFormat(at[:0], TimeFormat))
	out = netstring(out, l.Stream)
	out = netstring(out, strconv.AppendInt(version[:0], l.Version, 10))
	return netstring(out, hex.AppendEncode(chain[:0], l.Chain[:]))
}

// mostLeaf is the greatest number of bytes of a leaf without its stream.
const mostLeaf = 192

// Hash returns the leaf hash of RFC 6962.
func (l Leaf) Hash() Hash { return HashRecord(l.Record()) }

// HashRecord returns the leaf hash of a record. It saves a caller who has the record from making it again.
func HashRecord(record []byte) Hash { return tlog.RecordHash(record) }

// Equal reports whether two leaves have the same record.
func (l Leaf) Equal(other Leaf) bool {
	sameTime := l.RecordedAt.Truncate(time.Microsecond).Equal(other.RecordedAt.Truncate(time.Microsecond))
	l.RecordedAt, other.RecordedAt = time.Time{}, time.Time{}
	return sameTime && l == other
}

// ParseLeaf is the inverse of Record. Error: the bytes are not exactly the record of a leaf.
func ParseLeaf(record []byte) (Leaf, error) {
	fields, err := fieldsOf(record, leafFormat, 5)
	if err != nil {
		return Leaf{}, err
	}
	var l Leaf
	if l.Position, err = parseNumber(fields[0]); err != nil {
		return Leaf{}, err
	}
	if l.RecordedAt, err = time.Parse(TimeFormat, fields[1]); err != nil {
		return Leaf{}, fmt.Errorf("translog: the time of a leaf: %w", err)
	}
	l.Stream = fields[2]
	if l.Version, err = parseNumber(fields[3]); err != nil {
		return Leaf{}, err
	}
	if l.Chain, err = parseChain(fields[4]); err != nil {
		return Leaf{}, err
	}
	if string(l.Record()) != string(record) {
		return Leaf{}, fmt.Errorf("translog: the record of position %d is not in its canonical form", l.Position)
	}
	return l, nil
}

// Restart is the first leaf of a log that continues an earlier one, after events were lost.
type Restart struct {
	// Origin, Size and Root are the last checkpoint of the earlier log.
	Origin string
	Size   int64
	Root   Hash
	// Digest is the Digest of that checkpoint as it was signed.
	Digest string
	// Lost describes the events that the earlier log has and the database has not.
	Lost string
	// Reason and Actor are the text and the operator of `vqa ledger restart`.
	Reason, Actor string
	At            time.Time
}

// Record returns the bytes of the leaf, in the form of Leaf.Record.
func (r Restart) Record() []byte {
	return netstrings(restartFormat, r.Origin, number(r.Size), r.Root.String(), r.Digest, r.Lost, r.Reason, r.Actor,
		r.At.UTC().Format(TimeFormat))
}

// Hash returns the leaf hash of RFC 6962.
func (r Restart) Hash() Hash { return tlog.RecordHash(r.Record()) }

// ParseRestart is the inverse of Record. Error: the bytes are not exactly the record of a restart.
func ParseRestart(record []byte) (Restart, error) {
	fields, err := fieldsOf(record, restartFormat, 8)
	if err != nil {
		return Restart{}, err
	}
	r := Restart{Origin: fields[0], Digest: fields[3], Lost: fields[4], Reason: fields[5], Actor: fields[6]}
	if r.Size, err = parseNumber(fields[1]); err != nil {
		return Restart{}, err
	}
	if r.Root, err = ParseHash(fields[2]); err != nil {
		return Restart{}, fmt.Errorf("translog: the root in a restart: %w", err)
	}
	if r.At, err = time.Parse(TimeFormat, fields[7]); err != nil {
		return Restart{}, fmt.Errorf("translog: the time of a restart: %w", err)
	}
	if string(r.Record()) != string(record) {
		return Restart{}, fmt.Errorf("translog: the record of a restart is not in its canonical form")
	}
	return r, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("translog: %w", err)
	}
	return n, nil
}

func parseChain(text string) (chain [ChainSize]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != ChainSize {
		return chain, fmt.Errorf("translog: %q is not a chain of %d bytes in hexadecimal", text, ChainSize)
	}
	return [ChainSize]byte(raw), nil
}

// mostDigits bounds the digits and the colon of most netstrings. A longer one makes the record grow.
const mostDigits = 5

// netstrings returns the netstrings of the fields, without separators.
func netstrings(fields ...string) []byte {
	size := 0
	for _, f := range fields {
		size += len(f) + mostDigits
	}
	out := make([]byte, 0, size)
	for _, f := range fields {
		out = netstring(out, f)
	}
	return out
}

// netstring appends the netstring of a field.
func netstring[T string | []byte](to []byte, field T) []byte {
	return append(append(strconv.AppendInt(to, int64(len(field)), 10), ':'), field...)
}

// fieldsOf splits a record into its netstrings and returns those after the format.
func fieldsOf(record []byte, format string, want int) ([]string, error) {
	fields := make([]string, 0, want+1)
	for rest := string(record); rest != ""; {
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || digits == len(rest) || rest[digits] != ':' || n > len(rest)-digits-1 {
			return nil, fmt.Errorf("translog: a record is not made of netstrings")
		}
		fields, rest = append(fields, rest[digits+1:digits+1+n]), rest[digits+1+n:]
	}
	if len(fields) == 0 || fields[0] != format {
		return nil, fmt.Errorf("translog: the record has another format than %s", format)
	}
	if len(fields)-1 != want {
		return nil, fmt.Errorf("translog: a record of format %s has %d fields instead of %d", format, len(fields)-1, want)
	}
	return fields[1:], nil
}
