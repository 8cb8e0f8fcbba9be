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

	"vqa/domain/credit"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/projections/ledger/book"
)

//go:embed verify.py
var verifier []byte

//go:embed statement.py
var statementMaker []byte

// bundleFormat is the name and version of the bundle format.
const bundleFormat = "vqa-ledger-bundle-2"

// Target receives the files of a bundle, one after the other. Once the next file is
// created, the writer of the one before is not used again. A *zip.Writer is a Target.
type Target interface {
	Create(name string) (io.Writer, error)
}

// Manifest is the table of contents of a bundle.
type Manifest struct {
	Format    string `json:"format"`
	AccountID string `json:"account_id"`
	// Entries and Checkpoints are the numbers of lines in their files.
	Entries     int64 `json:"entries"`
	Checkpoints int64 `json:"checkpoints"`
	// Sealed is the last version that a checkpoint covers, or 0.
	Sealed int64 `json:"sealed_version"`
	// Files are the SHA-256 of all other files, in hexadecimal.
	Files map[string]string `json:"files"`
}

// storedLine is an event of the log with all fields of its hash. Data and meta are strings,
// because the hash covers their bytes.
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

// bundle is a bundle that is being written.
type bundle struct {
	into     Target
	manifest Manifest
	// out is the open file. It is buffered and feeds the digest.
	out  *bufio.Writer
	hash hash.Hash
}

// WriteBundle writes everything that proves an account's ledger, and the program that
// checks it. The same log gives the same bytes. progress is called after each event.
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
		{"statement.py", func() error { _, err := b.out.Write(statementMaker); return err }},
	} {
		if err := b.file(part.name, part.write); err != nil {
			return b.manifest, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	// The manifest lists all files except itself.
	out, err := into.Create("manifest.json")
	if err != nil {
		return b.manifest, fmt.Errorf("manifest.json: %w", err)
	}
	return b.manifest, writeJSON(out, b.manifest)
}

// file writes a file and adds it to the manifest.
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

// stream writes the events of a stream, one per line. It calls add with each event first.
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
			return fmt.Errorf("%s is not a ledger event", e.EventType())
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
			return fmt.Errorf("%s is not a checkpoint", e.EventType())
		}
		b.manifest.Checkpoints++
		b.manifest.Sealed = sealed.Checkpoint.Version
		progress()
		return nil
	})
}

// publicKey is a key in the form of /.well-known/vqa-ledger-keys.json, without its time, which a bundle cannot
// prove.
type publicKey struct {
	KeyID     string `json:"key_id"`
	Algorithm string `json:"algorithm"`
	PublicKey string `json:"public_key"`
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
			return fmt.Errorf("event at position %d: %s is not a ledger key", e.Position, e.Type)
		}
		keys = append(keys, publicKey{KeyID: added.KeyID, Algorithm: "ed25519", PublicKey: added.PublicKey})
	}
	return writeJSON(b.out, map[string]any{"keys": keys})
}

func (b *bundle) statement(ctx context.Context, from *book.Snapshot, page bool) error {
	s, err := from.Statement(ctx, b.manifest.AccountID, book.Period{})
	if err != nil {
		return err
	}
	if page {
		return StatementHTML(b.out, s, nil) // the price is a setting and not part of the ledger
	}
	return writeJSON(b.out, s)
}

//go:embed bundle.txt
var bundleReadme string

func (b *bundle) readme() error {
	_, err := strings.NewReplacer("ACCOUNT", b.manifest.AccountID).WriteString(b.out, bundleReadme)
	return err
}
