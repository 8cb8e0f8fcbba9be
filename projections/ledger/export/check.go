package export

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"

	"vqa/domain/credit"
	"vqa/eventstore/codec"
	"vqa/eventstore/translog"
	"vqa/projections/ledger/book"
)

// Limits of the files of a bundle that is read, in bytes.
const (
	// mostFile bounds a file that is read at once. The nodes of a million entries have about 500 MB.
	mostFile = 1 << 30
	// mostLine bounds a line of the entries. An event has at most a few kB.
	mostLine = 1 << 20
)

// Checked is a bundle whose every part holds under its own keys.
type Checked struct {
	Manifest   Manifest
	Checkpoint translog.Checkpoint
	Older      translog.Checkpoint
	Evidence   *translog.Evidence
}

// Contradiction is the first part of a bundle that does not hold.
type Contradiction struct {
	File, Problem string
	// Stream, Version and Position name the row. They are empty when it is not a single row.
	Stream            string
	Version, Position int64
}

// Error implements error.
func (c *Contradiction) Error() string {
	if c.Version > 0 {
		return fmt.Sprintf("%s, position %d, stream %s, version %d: %s", c.File, c.Position, c.Stream, c.Version, c.Problem)
	}
	return c.File + ": " + c.Problem
}

func contradiction(file, format string, args ...any) error {
	return &Contradiction{File: file, Problem: fmt.Sprintf(format, args...)}
}

// CheckBundle verifies a bundle, like its own verify.py: the chain, the laws and the leaf of each entry, the
// checkpoints, the seal and the account in it, and all files that are made from the entries. With pins, one of
// them must be the key that the log began with. Error: *Contradiction, or a file cannot be read.
func CheckBundle(folder fs.FS, c *codec.Codec, pins ...ed25519.PublicKey) (Checked, error) {
	b := &reading{folder: folder, codec: c}
	if err := b.manifest(); err != nil {
		return Checked{}, err
	}
	if err := b.proofs(pins); err != nil {
		return Checked{}, err
	}
	state, chain, err := b.entries()
	if err != nil {
		return Checked{}, err
	}
	if err := b.account(state, chain); err != nil {
		return Checked{}, err
	}
	if r, found := b.evidence.Surplus(b.newest.Size); found {
		return Checked{}, contradiction("nodes.txt", "no path needs the leaves %d to %d", r.Low, r.High-1)
	}
	return Checked{b.is, b.newest, b.older, b.evidence}, b.remade()
}

// reading is a bundle that is being verified.
type reading struct {
	folder        fs.FS
	codec         *codec.Codec
	is            Manifest
	newest, older translog.Checkpoint
	number        int64
	proof         proofFile
	sealed        credit.LogSealed
	evidence      *translog.Evidence
}

// open opens a file. A missing file contradicts nothing: nothing was compared.
func (b *reading) open(name string) (fs.File, error) {
	file, err := b.folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the bundle is incomplete: it has no %s", name)
	}
	return file, err
}

// read returns a whole file.
func (b *reading) read(name string) (data []byte, err error) {
	file, err := b.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err = io.ReadAll(io.LimitReader(file, mostFile+1))
	if err == nil && len(data) > mostFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, mostFile)
	}
	return data, err
}

// decode reads a file that has exactly one JSON value of a type.
func (b *reading) decode(name string, into any) error {
	data, err := b.read(name)
	if err != nil {
		return err
	}
	if err := strictly(data, into); err != nil {
		return contradiction(name, "%v", err)
	}
	return nil
}

func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is text after the value")
	}
	return nil
}

// manifest reads the table of contents and compares the digests of all files.
func (b *reading) manifest() error {
	if err := b.decode("manifest.json", &b.is); err != nil {
		return err
	}
	if b.is.Format != bundleFormat {
		return contradiction("manifest.json", "the format is %q, and this program checks %s", b.is.Format, bundleFormat)
	}
	inside, err := fs.ReadDir(b.folder, ".")
	if err != nil {
		return err
	}
	for _, file := range inside {
		if name := file.Name(); name != "manifest.json" && b.is.Files[name] == "" {
			return contradiction(name, "manifest.json does not list this file")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.is.Files)) {
		sum, err := b.digest(name)
		if err != nil {
			return err
		}
		if sum != b.is.Files[name] {
			return contradiction(name, "it is not the file that manifest.json lists")
		}
	}
	return nil
}

func (b *reading) digest(name string) (sum string, err error) {
	file, err := b.open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	h := sha256.New()
	_, err = io.Copy(h, file)
	return hex.EncodeToString(h.Sum(nil)), err
}

// proofs reads the keys, the checkpoints and the seal, and verifies them.
func (b *reading) proofs(pins []ed25519.PublicKey) (err error) {
	b.evidence = &translog.Evidence{}
	if b.evidence.Checkpoint, err = b.read("checkpoint.txt"); err != nil {
		return err
	}
	if b.evidence.Older, err = b.read("older.txt"); err != nil {
		return err
	}
	nodes, err := b.read("nodes.txt")
	if err != nil {
		return err
	}
	if b.evidence.Nodes, err = translog.ParseNodes(nodes); err != nil {
		return contradiction("nodes.txt", "%v", err)
	}
	if err := b.keys(pins); err != nil {
		return err
	}
	if err := b.decode("proof.json", &b.proof); err != nil {
		return err
	}
	b.evidence.Consistency = b.proof.Consistency
	if err := translog.VerifyConsistency(b.older.Tree, b.newest.Tree, b.proof.Consistency); err != nil {
		return contradiction("older.txt", "%v", err)
	}
	for _, a := range b.proof.Accounts {
		account, err := translog.ParseAccount([]byte(a.Record))
		if err != nil {
			return contradiction("proof.json", "%v", err)
		}
		b.evidence.Accounts = append(b.evidence.Accounts, translog.AccountProof{Account: account, Index: a.Index, Hashes: a.Hashes})
	}
	return b.seal()
}

// keys reads the statements about keys and logs, and opens both checkpoints with them.
func (b *reading) keys(pins []ed25519.PublicKey) error {
	var log logFile
	if err := b.decode("log.json", &log); err != nil {
		return err
	}
	for _, s := range log.Statements {
		b.evidence.Statements = append(b.evidence.Statements, []byte(s))
	}
	keys, err := translog.ReadKeys(b.evidence.Statements, pins...)
	if err != nil {
		return contradiction("log.json", "%v", err)
	}
	var opening translog.Opening
	for i, o := range log.Openings {
		if opening, err = keys.OpenOpening([]byte(o)); err != nil || opening.Number != int64(i)+1 {
			return contradiction("log.json", "the opening of log %d: %v", i+1, err)
		}
		b.evidence.Openings = append(b.evidence.Openings, []byte(o))
	}
	b.number = opening.Number
	for name, of := range map[string]struct {
		signed []byte
		into   *translog.Checkpoint
	}{"checkpoint.txt": {b.evidence.Checkpoint, &b.newest}, "older.txt": {b.evidence.Older, &b.older}} {
		c, err := keys.Open(b.number, of.signed)
		if err != nil {
			return contradiction(name, "%v", err)
		}
		if c.Origin != opening.Origin {
			return contradiction(name, "it is a checkpoint of the log %s, not of %s", c.Origin, opening.Origin)
		}
		*of.into = c
	}
	return nil
}

// nowhere is a target that keeps no bytes.
type nowhere struct{}

// Create implements Target.
func (nowhere) Create(string) (io.Writer, error) { return io.Discard, nil }

// ofRelease are the files that depend on the release that wrote them, and not on the ledger.
var ofRelease = []string{"README.txt", "verify.py", "statement.py", "transparency.py", "drill.sh"}

// remade makes the files again from the entries and the proofs, and compares them.
func (b *reading) remade() error {
	all := content{account: b.is.AccountID, codec: b.codec, seal: b.proof.Seal, evidence: b.evidence}
	all.stored = func() iter.Seq2[book.Stored, error] {
		return func(yield func(book.Stored, error) bool) {
			for l, err := range b.lines() {
				var e book.Stored
				if err == nil {
					e, err = l.stored()
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
	made, err := all.write(nowhere{}, func() {})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(b.is.Files)) {
		if made.Files[name] == "" {
			return contradiction("manifest.json", "it lists %s, and a bundle has no such file", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(made.Files)) {
		if b.is.Files[name] == "" {
			return contradiction("manifest.json", "it does not list %s", name)
		}
		if !slices.Contains(ofRelease, name) && made.Files[name] != b.is.Files[name] {
			return contradiction(name, "it is not the file that the entries and the proofs give")
		}
	}
	if listed := b.is; listed.Entries != made.Entries || listed.Origin != made.Origin || listed.Size != made.Size || listed.OlderSize != made.OlderSize {
		return contradiction("manifest.json", "the number of entries or the checkpoints differ from the files")
	}
	return nil
}
