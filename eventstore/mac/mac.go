package mac

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"sync"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

const (
	// KeyBytes is the least length of a key in bytes.
	KeyBytes = 32
	// Size is the length of a MAC in bytes: the id of its key, and an HMAC with SHA-256.
	Size    = idBytes + sha256.Size
	idBytes = 8
)

// The reasons for which a MAC is refused.
var (
	// ErrMissing says that a row has no MAC.
	ErrMissing = errors.New("it has no MAC")
	// ErrUnknownKey says that a MAC names a key that was not given.
	ErrUnknownKey = errors.New("its MAC names an unknown key")
	// ErrInvalid says that a MAC does not match its row.
	ErrInvalid = errors.New("its MAC does not match")
)

// The kinds of rows. The text is part of what a MAC covers, so it never changes.
const (
	ofEvent    = "vqa-mac-1 event"
	ofSnapshot = "vqa-mac-1 snapshot"
)

// Keys compute and check MACs. They are safe for concurrent use.
type Keys struct {
	newest *key
	byID   map[[idBytes]byte]*key
}

// key is the key of one installation.
type key struct {
	id [idBytes]byte
	// hashes has ready HMACs, because making one takes longer than using it.
	hashes sync.Pool
}

// New returns the keys of an installation. MACs are computed with the newest key. Each key has at
// least KeyBytes bytes. Error: a shorter key, or no installation.
func New(installation string, newest []byte, older ...[]byte) (*Keys, error) {
	if installation == "" {
		return nil, errors.New("the keys of events need the id of the installation")
	}
	k := &Keys{byID: map[[idBytes]byte]*key{}}
	for _, secret := range append([][]byte{newest}, older...) {
		if len(secret) < KeyBytes {
			return nil, fmt.Errorf("a key of events has %d bytes instead of %d", len(secret), KeyBytes)
		}
		one := newKey(secret, installation)
		if k.newest == nil {
			k.newest = one
		}
		k.byID[one.id] = one
	}
	return k, nil
}

// newKey derives the key of an installation, so that a row of another database is never valid.
func newKey(secret []byte, installation string) *key {
	derive := hmac.New(sha256.New, secret)
	derive.Write([]byte("vqa-mac-1 installation " + installation))
	derived := derive.Sum(nil)
	one := &key{}
	id := sha256.Sum256(derived)
	copy(one.id[:], id[:])
	one.hashes.New = func() any { return hmac.New(sha256.New, derived) }
	return one
}

// Event returns the MAC of an event.
func (k *Keys) Event(e codec.Encoded) []byte { return k.newest.sum(event(e)) }

// CheckEvent returns nil when the event has a valid MAC. Errors: ErrMissing, ErrUnknownKey,
// ErrInvalid.
func (k *Keys) CheckEvent(e codec.Encoded, mac []byte) error { return k.check(mac, event(e)) }

// Snapshot returns the MAC of the snapshot of a stream at a version with a chain.
func (k *Keys) Snapshot(stream eventstore.StreamID, version int64, chain eventstore.Chain, state []byte) []byte {
	return k.newest.sum(snapshot(stream, version, chain, state))
}

// CheckSnapshot returns nil when the snapshot has a valid MAC. Errors: ErrMissing, ErrUnknownKey,
// ErrInvalid.
func (k *Keys) CheckSnapshot(stream eventstore.StreamID, version int64, chain eventstore.Chain, state, mac []byte) error {
	return k.check(mac, snapshot(stream, version, chain, state))
}

func (k *Keys) check(mac, covered []byte) error {
	if len(mac) == 0 {
		return ErrMissing
	}
	if len(mac) != Size {
		return ErrInvalid
	}
	by, known := k.byID[[idBytes]byte(mac)]
	if !known {
		return ErrUnknownKey
	}
	if !hmac.Equal(by.sum(covered), mac) {
		return ErrInvalid
	}
	return nil
}

// sum returns the MAC of bytes.
func (k *key) sum(covered []byte) []byte {
	h := k.hashes.Get().(hash.Hash)
	defer k.hashes.Put(h)
	h.Reset()
	h.Write(covered)
	return h.Sum(append(make([]byte, 0, Size), k.id[:]...))
}

// The covered bytes are netstrings: a length in bytes, a colon, and the bytes. So two different rows
// never give the same bytes.

func event(e codec.Encoded) []byte {
	b := make([]byte, 0, len(e.Data)+len(e.Meta)+256)
	b = netstring(b, ofEvent)
	b = netstring(b, string(e.Chain[:]))
	return codec.AppendContent(b, e)
}

func snapshot(stream eventstore.StreamID, version int64, chain eventstore.Chain, state []byte) []byte {
	b := make([]byte, 0, len(state)+256)
	for _, part := range []string{ofSnapshot, stream.String(), strconv.FormatInt(version, 10), string(chain[:])} {
		b = netstring(b, part)
	}
	return netstring(b, state)
}

func netstring[T string | []byte](to []byte, part T) []byte {
	to = append(strconv.AppendInt(to, int64(len(part)), 10), ':')
	return append(to, part...)
}
