package export

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/projections/ledger/book"
)

//go:embed verify.py
var verifier []byte

// bundleFormat names the form of a bundle; it changes with it.
const bundleFormat = "vqa-ledger-bundle-1"

// Target takes the files of a bundle, one after the other: a writer is no longer used
// once the next file is created. A *zip.Writer is one.
type Target interface {
	Create(name string) (io.Writer, error)
}

// Manifest is the table of contents of a bundle.
type Manifest struct {
	Format    string `json:"format"`
	AccountID string `json:"account_id"`
	// Entries and Checkpoints count the lines of their files.
	Entries     int64 `json:"entries"`
	Checkpoints int64 `json:"checkpoints"`
	// Sealed is the version up to which a checkpoint vouches, 0 when there is none.
	Sealed int64 `json:"sealed_version"`
	// Files are the SHA-256 of all other files, in hexadecimal.
	Files map[string]string `json:"files"`
}

// storedLine is an event of the log with all that its hash is made of. Data and meta are
// strings, because their very bytes count.
type storedLine struct {
	Position  int64            `json:"position"`
	Stream    string           `json:"stream"`
	Version   int64            `json:"version"`
	Type      string           `json:"type"`
	AccountID string           `json:"account_id"`
	Data      string           `json:"data"`
	Meta      string           `json:"meta"`
	Chain     string           `json:"chain"`
	Postings  []credit.Posting `json:"postings,omitzero"`
}

// bundle is one being written.
type bundle struct {
	into     Target
	manifest Manifest
	// out is the file that is open; it is buffered, and its digest is made on the way.
	out  *bufio.Writer
	hash hash.Hash
}

// WriteBundle writes everything that proves an account's ledger, with the program that
// checks it. The same log gives the same bytes. progress is told after each event.
func WriteBundle(ctx context.Context, into Target, from *book.Snapshot, c *codec.Codec, accountID string, progress func()) (Manifest, error) {
	b := &bundle{into: into, manifest: Manifest{Format: bundleFormat, AccountID: accountID, Files: map[string]string{}}}
	for _, part := range []struct {
		name  string
		write func() error
	}{
		{"entries.jsonl", func() error { return b.entries(ctx, from, c, progress) }},
		{"checkpoints.jsonl", func() error { return b.checkpoints(ctx, from, c, progress) }},
		{"keys.json", func() error { return b.keys(ctx, from, c) }},
		{"statement.json", func() error { return b.statement(ctx, from, false) }},
		{"statement.html", func() error { return b.statement(ctx, from, true) }},
		{"README.txt", func() error { return b.readme() }},
		{"verify.py", func() error { _, err := b.out.Write(verifier); return err }},
	} {
		if err := b.file(part.name, part.write); err != nil {
			return b.manifest, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	// What lists the others is not in the list.
	out, err := into.Create("manifest.json")
	if err != nil {
		return b.manifest, fmt.Errorf("manifest.json: %w", err)
	}
	return b.manifest, writeJSON(out, b.manifest)
}

// file writes a file and puts it on the list.
func (b *bundle) file(name string, write func() error) error {
	out, err := b.into.Create(name)
	if err != nil {
		return err
	}
	b.hash = sha256.New()
	b.out = bufio.NewWriterSize(io.MultiWriter(out, b.hash), 1<<16)
	if err := write(); err != nil {
		return err
	}
	if err := b.out.Flush(); err != nil {
		return err
	}
	b.manifest.Files[name] = hex.EncodeToString(b.hash.Sum(nil))
	return nil
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// stream writes the events of a stream, each a line, after add has seen it.
func (b *bundle) stream(ctx context.Context, from *book.Snapshot, c *codec.Codec, stream eventstore.StreamID,
	add func(eventstore.Event, *storedLine) error,
) error {
	lines := json.NewEncoder(b.out)
	lines.SetEscapeHTML(false)
	for e, err := range from.Stored(ctx, stream) {
		if err != nil {
			return err
		}
		event, err := c.Unmarshal(e.Type, e.Data)
		if err != nil {
			return fmt.Errorf("event at position %d: %w", e.Position, err)
		}
		line := storedLine{
			Position: e.Position, Stream: e.Stream.String(), Version: e.Version, Type: e.Type, AccountID: e.AccountID,
			Data: string(e.Data), Meta: string(e.Meta), Chain: e.Chain.String(),
		}
		if err := add(event, &line); err != nil {
			return fmt.Errorf("event at position %d: %w", e.Position, err)
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (b *bundle) entries(ctx context.Context, from *book.Snapshot, c *codec.Codec, progress func()) error {
	return b.stream(ctx, from, c, fold.Credit.Stream(b.manifest.AccountID), func(e eventstore.Event, line *storedLine) error {
		decided, ok := e.(credit.Event)
		if !ok {
			return fmt.Errorf("%s is no entry of a ledger", e.EventType())
		}
		b.manifest.Entries++
		line.Postings = append([]credit.Posting{}, credit.Postings(decided)...)
		progress()
		return nil
	})
}

func (b *bundle) checkpoints(ctx context.Context, from *book.Snapshot, c *codec.Codec, progress func()) error {
	return b.stream(ctx, from, c, fold.Checkpoint.Stream(b.manifest.AccountID), func(e eventstore.Event, _ *storedLine) error {
		sealed, ok := e.(credit.Sealed)
		if !ok {
			return fmt.Errorf("%s is no checkpoint", e.EventType())
		}
		b.manifest.Checkpoints++
		b.manifest.Sealed = sealed.Checkpoint.Version
		progress()
		return nil
	})
}

// publicKey is a key as /.well-known/vqa-ledger-keys.json publishes it.
type publicKey struct {
	KeyID     string    `json:"key_id"`
	Algorithm string    `json:"algorithm"`
	PublicKey string    `json:"public_key"`
	AddedAt   time.Time `json:"added_at"`
}

func (b *bundle) keys(ctx context.Context, from *book.Snapshot, c *codec.Codec) error {
	keys := []publicKey{}
	for e, err := range from.Stored(ctx, fold.LedgerKeys.Stream(credit.LedgerKeysID)) {
		if err != nil {
			return err
		}
		event, err := c.Unmarshal(e.Type, e.Data)
		if err != nil {
			return fmt.Errorf("event at position %d: %w", e.Position, err)
		}
		added, ok := event.(credit.LedgerKeyAdded)
		if !ok {
			return fmt.Errorf("event at position %d: %s is no key", e.Position, e.Type)
		}
		keys = append(keys, publicKey{KeyID: added.KeyID, Algorithm: "ed25519", PublicKey: added.PublicKey, AddedAt: added.At})
	}
	return writeJSON(b.out, map[string]any{"keys": keys})
}

func (b *bundle) statement(ctx context.Context, from *book.Snapshot, page bool) error {
	s, err := from.Statement(ctx, b.manifest.AccountID, book.Period{})
	if err != nil {
		return err
	}
	if page {
		return StatementHTML(b.out, s, nil) // the price is a setting, and a bundle is the ledger alone
	}
	return writeJSON(b.out, s)
}

//go:embed bundle.txt
var bundleReadme string

func (b *bundle) readme() error {
	_, err := strings.NewReplacer("ACCOUNT", b.manifest.AccountID).WriteString(b.out, bundleReadme)
	return err
}
