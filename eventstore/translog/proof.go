package translog

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// ProveInclusion returns the audit path of the leaf with an index, from the tiles of a tree.
func ProveInclusion(tree Tree, read ReadTile, index int64) ([]Hash, error) {
	if index < 0 || index >= tree.Size {
		return nil, fmt.Errorf("translog: a tree of %d leaves has no leaf %d", tree.Size, index)
	}
	proof, err := tlog.ProveRecord(tree.Size, index, hashes(tree, read))
	if err != nil {
		return nil, fmt.Errorf("translog: prove leaf %d: %w", index, err)
	}
	return proof, nil
}

// VerifyInclusion checks that a tree has a leaf hash at an index.
func VerifyInclusion(tree Tree, index int64, leaf Hash, proof []Hash) error {
	if index < 0 || index >= tree.Size {
		return fmt.Errorf("translog: a tree of %d leaves has no leaf %d", tree.Size, index)
	}
	if err := tlog.CheckRecord(proof, tree.Size, tree.Root, index, leaf); err != nil {
		return fmt.Errorf("translog: the tree of %d leaves does not have this leaf at %d: %w", tree.Size, index, err)
	}
	return nil
}

// ProveConsistency returns the proof that a tree extends its own first size leaves. It is empty for size
// 0 and for the size of the tree.
func ProveConsistency(tree Tree, read ReadTile, size int64) ([]Hash, error) {
	switch {
	case size < 0 || size > tree.Size:
		return nil, fmt.Errorf("translog: a tree of %d leaves does not extend one of %d", tree.Size, size)
	case size == 0 || size == tree.Size:
		return nil, nil
	}
	proof, err := tlog.ProveTree(tree.Size, size, hashes(tree, read))
	if err != nil {
		return nil, fmt.Errorf("translog: prove that %d leaves extend %d: %w", tree.Size, size, err)
	}
	return proof, nil
}

// VerifyConsistency checks that a tree extends an older one. Errors: the tree is shorter, or the proof
// does not show it, as with a fork.
func VerifyConsistency(older, tree Tree, proof []Hash) error {
	switch {
	case older.Size < 0 || older.Size > tree.Size:
		return fmt.Errorf("translog: the log was shortened: it has %d leaves instead of at least %d", tree.Size, older.Size)
	case older.Size == 0 || older.Size == tree.Size:
		if len(proof) > 0 {
			return errors.New("translog: the consistency proof must be empty")
		}
		if older.Size > 0 && older.Root != tree.Root {
			return fmt.Errorf("translog: the log was forked: two trees of %d leaves have different roots", tree.Size)
		}
		return nil
	}
	if err := tlog.CheckTree(proof, tree.Size, tree.Root, older.Size, older.Root); err != nil {
		return fmt.Errorf("translog: the tree of %d leaves does not extend the one of %d: %w", tree.Size, older.Size, err)
	}
	return nil
}

// proofFormat is the first line of a proof file.
const proofFormat = "c2sp.org/tlog-proof@v1"

// mostHashes bounds the hashes of a proof. A tree of 2^63 leaves needs 63.
const mostHashes = 63

// Proof shows that a record is in a log, in the form of https://c2sp.org/tlog-proof.
type Proof struct {
	// Record is the record of the leaf, or nil when the verifier has it. It is the extra line.
	Record []byte
	Index  int64
	Hashes []Hash
	// Checkpoint is the signed checkpoint that the proof leads to.
	Checkpoint []byte
}

// Format returns the content of a .tlog-proof file.
func (p Proof) Format() []byte {
	out := []byte(proofFormat + "\n")
	if p.Record != nil {
		out = fmt.Appendf(out, "extra %s\n", base64.StdEncoding.EncodeToString(p.Record))
	}
	out = fmt.Appendf(out, "index %d\n", p.Index)
	for _, h := range p.Hashes {
		out = fmt.Appendln(out, h.String())
	}
	return append(append(out, '\n'), p.Checkpoint...)
}

// ParseProof is the inverse of Format. It verifies nothing.
func ParseProof(data []byte) (Proof, error) {
	head, checkpoint, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok {
		return Proof{}, errors.New("translog: a proof has an empty line before its checkpoint")
	}
	lines := strings.Split(string(head), "\n")
	if lines[0] != proofFormat {
		return Proof{}, fmt.Errorf("translog: a proof begins with the line %s", proofFormat)
	}
	p, lines := Proof{Checkpoint: checkpoint}, lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		record, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[0], "extra "))
		if err != nil {
			return Proof{}, fmt.Errorf("translog: the extra line of a proof: %w", err)
		}
		p.Record, lines = record, lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		return Proof{}, errors.New("translog: a proof has a line with its index")
	}
	index, err := strconv.ParseUint(strings.TrimPrefix(lines[0], "index "), 10, 63)
	if err != nil {
		return Proof{}, fmt.Errorf("translog: the index of a proof: %w", err)
	}
	p.Index, lines = int64(index), lines[1:]
	if len(lines) > mostHashes {
		return Proof{}, fmt.Errorf("translog: a proof has %d hashes, more than %d", len(lines), mostHashes)
	}
	for _, line := range lines {
		h, err := ParseHash(line)
		if err != nil {
			return Proof{}, fmt.Errorf("translog: a hash of a proof: %w", err)
		}
		p.Hashes = append(p.Hashes, h)
	}
	return p, nil
}

// Verify checks that the checkpoint is signed by one of the keys and that its tree has the record at the
// index. record is what the verifier computed itself, or nil to take Record. It returns the checkpoint.
func (p Proof) Verify(record []byte, keys ...ed25519.PublicKey) (Checkpoint, error) {
	if record == nil {
		record = p.Record
	}
	if record == nil {
		return Checkpoint{}, errors.New("translog: the proof has no record")
	}
	c, _, err := OpenCheckpoint(p.Checkpoint, keys...)
	if err != nil {
		return Checkpoint{}, err
	}
	return c, VerifyInclusion(c.Tree, p.Index, tlog.RecordHash(record), p.Hashes)
}
