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
	"iter"
	"strings"

	"vqa/domain/credit"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/translog"
	"vqa/projections/ledger/book"
)

// bundleFormat is the name and version of the bundle format.
const bundleFormat = "vqa-ledger-bundle-3"

// The programs and the text of a bundle.
var (
	//go:embed verify.py
	verifier []byte
	//go:embed statement.py
	statementMaker []byte
	//go:embed transparency.py
	transparency []byte
	//go:embed drill.sh
	drill []byte
	//go:embed bundle.txt
	bundleReadme string
)

// Target receives the files of a bundle, one after the other. Once the next file is
// created, the writer of the one before is not used again. A *zip.Writer is a Target.
type Target interface {
	Create(name string) (io.Writer, error)
}

// Manifest is the table of contents of a bundle.
type Manifest struct {
	Format    string `json:"format"`
	AccountID string `json:"account_id"`
	// Entries is the number of entries, which the seal covers.
	Entries int64 `json:"entries"`
	// Origin and Size are those of the checkpoint that proves the entries, and OlderSize is that of the one
	// that it extends.
	Origin    string `json:"origin"`
	Size      int64  `json:"size"`
	OlderSize int64  `json:"older_size"`
	// Files are the SHA-256 of all other files, in hexadecimal.
	Files map[string]string `json:"files"`
}

// storedLine is an event of the log with all fields of its hash and of its leaf. Data and meta are strings,
// because the hash covers their bytes.
type storedLine struct {
	Index      int64            `json:"index"`
	Position   int64            `json:"position"`
	RecordedAt string           `json:"recorded_at"`
	Stream     string           `json:"stream"`
	Version    int64            `json:"version"`
	Type       string           `json:"type"`
	AccountID  string           `json:"account_id"`
	Data       string           `json:"data"`
	Meta       string           `json:"meta"`
	Chain      string           `json:"chain"`
	Postings   []credit.Posting `json:"postings,omitzero"`
	// Before is the chain of the event before, for the seal alone.
	Before *string `json:"before,omitempty"`
}

func lineOf(index int64, e book.Stored) storedLine {
	return storedLine{
		Index: index, Position: e.Position, RecordedAt: e.RecordedAt.UTC().Format(translog.TimeFormat), Stream: e.Stream.String(),
		Version: e.Version, Type: e.Type, AccountID: e.AccountID, Data: string(e.Data), Meta: string(e.Meta), Chain: e.Chain.String(),
	}
}

// logFile is the content of log.json.
type logFile struct {
	Statements []string `json:"statements"`
	Openings   []string `json:"openings"`
}

// accountLine is a leaf of the account tree with its audit path.
type accountLine struct {
	Index  int64           `json:"index"`
	Record string          `json:"record"`
	Hashes []translog.Hash `json:"hashes"`
}

// proofFile is the content of proof.json. The hashes of the paths of the entries are in nodes.txt.
type proofFile struct {
	Seal        storedLine      `json:"seal"`
	Accounts    []accountLine   `json:"accounts"`
	Consistency []translog.Hash `json:"consistency"`
}

// content is what the files of a bundle are made from.
type content struct {
	account string
	codec   *codec.Codec
	// stored returns the entries that the seal covers, in order.
	stored   func() iter.Seq2[book.Stored, error]
	seal     storedLine
	evidence *translog.Evidence
}

// WriteBundle writes everything that proves an account's ledger, and the program that
// checks it. The same log and checkpoints give the same bytes. progress is called after each entry. The
// snapshot must be younger than the evidence. Error: a row is not the one of the evidence.
func WriteBundle(ctx context.Context, into Target, from *book.Snapshot, c *codec.Codec, accountID string, e *translog.Evidence, progress func()) (Manifest, error) {
	all := content{account: accountID, codec: c, evidence: e}
	all.stored = func() iter.Seq2[book.Stored, error] {
		return func(yield func(book.Stored, error) bool) {
			n := 0
			for stored, err := range from.Stored(ctx, fold.Credit.Stream(accountID), 0) {
				if n == len(e.Entries) || !yield(stored, err) {
					return
				}
				n++
			}
		}
	}
	var err error
	if all.seal, err = sealLine(ctx, from, e.Seal); err != nil {
		return Manifest{}, err
	}
	return all.write(into, progress)
}

// sealLine reads the event of the seal, with the chain before it.
func sealLine(ctx context.Context, from *book.Snapshot, seal translog.Indexed) (storedLine, error) {
	stream, err := codec.ParseStreamID(seal.Stream)
	if err != nil {
		return storedLine{}, err
	}
	before := strings.Repeat("0", 2*translog.ChainSize)
	for e, err := range from.Stored(ctx, stream, max(seal.Version-2, 0)) {
		switch {
		case err != nil:
			return storedLine{}, err
		case e.Version == seal.Version-1:
			before = e.Chain.String()
		case leafOf(e).Hash() == seal.Hash():
			line := lineOf(seal.Index, e)
			line.Before = &before
			return line, nil
		default:
			return storedLine{}, fmt.Errorf("the event at position %d is not the one that was sealed", e.Position)
		}
	}
	return storedLine{}, fmt.Errorf("the seal at position %d is missing", seal.Position)
}

func leafOf(e book.Stored) translog.Leaf {
	return translog.Leaf{Position: e.Position, RecordedAt: e.RecordedAt, Stream: e.Stream.String(), Version: e.Version, Chain: e.Chain}
}

// bundle is a bundle that is being written.
type bundle struct {
	content
	into     Target
	manifest Manifest
	// out is the open file. It is buffered and feeds the digest.
	out  *bufio.Writer
	hash hash.Hash
}

// write writes all files.
func (c content) write(into Target, progress func()) (Manifest, error) {
	newest, err := checkpointIn(c.evidence.Checkpoint)
	if err != nil {
		return Manifest{}, err
	}
	older, err := checkpointIn(c.evidence.Older)
	if err != nil {
		return Manifest{}, err
	}
	b := &bundle{content: c, into: into, manifest: Manifest{
		Format: bundleFormat, AccountID: c.account, Origin: newest.Origin, Size: newest.Size, OlderSize: older.Size, Files: map[string]string{},
	}}
	bytes := func(data []byte) func() error {
		return func() error { _, err := b.out.Write(data); return err }
	}
	for _, part := range []struct {
		name  string
		write func() error
	}{
		{"entries.jsonl", func() error { return b.entries(progress) }},
		{"nodes.txt", bytes(translog.FormatNodes(c.evidence.Nodes))},
		{"proof.json", b.proof},
		{"log.json", b.log},
		{"checkpoint.txt", bytes(c.evidence.Checkpoint)},
		{"older.txt", bytes(c.evidence.Older)},
		{"statement.json", func() error { return b.statement(false) }},
		{"statement.html", func() error { return b.statement(true) }},
		{"README.txt", bytes([]byte(strings.ReplaceAll(bundleReadme, "ACCOUNT", c.account)))},
		{"verify.py", bytes(verifier)},
		{"statement.py", bytes(statementMaker)},
		{"transparency.py", bytes(transparency)},
		{"drill.sh", bytes(drill)},
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

// checkpointIn returns the checkpoint of a signed note without verifying the signature.
func checkpointIn(signed []byte) (translog.Checkpoint, error) {
	text, _, _ := strings.Cut(string(signed), "\n\n")
	return translog.ParseCheckpoint(text + "\n")
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

// entries writes the entries, one per line.
func (b *bundle) entries(progress func()) error {
	lines := json.NewEncoder(b.out)
	lines.SetEscapeHTML(false)
	for e, err := range b.stored() {
		if err != nil {
			return err
		}
		n := b.manifest.Entries
		if n == int64(len(b.evidence.Entries)) || leafOf(e).Hash() != b.evidence.Entries[n].Hash() {
			return fmt.Errorf("the event at position %d is not the one that was sealed", e.Position)
		}
		line := lineOf(b.evidence.Entries[n].Index, e)
		event, err := b.codec.Unmarshal(e.Type, e.Data)
		if err != nil {
			return fmt.Errorf("event at position %d: %w", e.Position, err)
		}
		decided, ok := event.(credit.Event)
		if !ok {
			return fmt.Errorf("event at position %d: %s is not a ledger event", e.Position, e.Type)
		}
		line.Postings = append([]credit.Posting{}, credit.Postings(decided)...)
		if err := lines.Encode(line); err != nil {
			return err
		}
		b.manifest.Entries++
		progress()
	}
	if want := int64(len(b.evidence.Entries)); b.manifest.Entries != want {
		return fmt.Errorf("the account has %d entries, but %d were sealed", b.manifest.Entries, want)
	}
	return nil
}

func (b *bundle) proof() error {
	f := proofFile{Seal: b.seal, Accounts: []accountLine{}, Consistency: append([]translog.Hash{}, b.evidence.Consistency...)}
	for _, p := range b.evidence.Accounts {
		f.Accounts = append(f.Accounts, accountLine{p.Index, string(p.Account.Record()), append([]translog.Hash{}, p.Hashes...)})
	}
	return writeJSON(b.out, f)
}

func (b *bundle) log() error {
	f := logFile{Statements: []string{}, Openings: []string{}}
	for _, s := range b.evidence.Statements {
		f.Statements = append(f.Statements, string(s))
	}
	for _, o := range b.evidence.Openings {
		f.Openings = append(f.Openings, string(o))
	}
	return writeJSON(b.out, f)
}

func (b *bundle) statement(page bool) error {
	s, err := book.StatementOf(b.account, book.EntriesOf(b.codec, b.stored()), book.Period{})
	if err != nil {
		return err
	}
	if page {
		return StatementHTML(b.out, s, nil) // the price is a setting and not part of the ledger
	}
	return writeJSON(b.out, s)
}
