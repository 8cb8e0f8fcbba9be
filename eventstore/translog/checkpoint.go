package translog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Checkpoint is a statement of a log about its tree, in the form of https://c2sp.org/tlog-checkpoint.
type Checkpoint struct {
	// Origin is the unique name of the log, and the name of the key that signs it.
	Origin string
	Tree
}

// Text returns the three lines that are signed.
func (c Checkpoint) Text() string {
	return c.Origin + "\n" + number(c.Size) + "\n" + c.Root.String() + "\n"
}

// CheckOrigin returns an error for a name that cannot be the origin of a log.
func CheckOrigin(origin string) error {
	if origin == "" || len(origin) > 200 || strings.ContainsAny(origin, " \t\r\n+") {
		return fmt.Errorf("translog: the origin %q must have 1 to 200 characters, without spaces and +", origin)
	}
	return nil
}

// ParseCheckpoint parses the text of a checkpoint. It verifies no signature.
func ParseCheckpoint(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 4 || lines[3] != "" {
		return Checkpoint{}, errors.New("translog: a checkpoint has three lines: origin, size and root")
	}
	c := Checkpoint{Origin: lines[0]}
	if err := CheckOrigin(c.Origin); err != nil {
		return Checkpoint{}, err
	}
	size, err := strconv.ParseUint(lines[1], 10, 63)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("translog: the size of a checkpoint: %w", err)
	}
	c.Size = int64(size)
	if c.Root, err = ParseHash(lines[2]); err != nil {
		return Checkpoint{}, fmt.Errorf("translog: the root of a checkpoint: %w", err)
	}
	if c.Text() != text {
		return Checkpoint{}, errors.New("translog: the checkpoint is not in its canonical form")
	}
	return c, nil
}

// Sign returns the checkpoint as a note with the signature of each key. The name of each is the origin.
func (c Checkpoint) Sign(keys ...ed25519.PrivateKey) ([]byte, error) {
	if err := CheckOrigin(c.Origin); err != nil {
		return nil, err
	}
	return sign(c.Origin, c.Text(), keys...)
}

// Digest returns the SHA-256 of a signed checkpoint's text in hexadecimal, without its signatures. So a
// cosignature does not change it.
func (c Checkpoint) Digest() string {
	sum := sha256.Sum256([]byte(c.Text()))
	return hex.EncodeToString(sum[:])
}

// OpenCheckpoint parses a signed checkpoint and returns those of the given keys that signed it. A line of
// an unknown key is ignored, and a wrong signature of a given key is an error. Error: no given key signed
// it, or the text is not a checkpoint.
func OpenCheckpoint(signed []byte, keys ...ed25519.PublicKey) (Checkpoint, []ed25519.PublicKey, error) {
	origin, _, _ := strings.Cut(string(signed), "\n")
	text, by, err := open(origin, signed, keys...)
	if err != nil {
		return Checkpoint{}, nil, err
	}
	c, err := ParseCheckpoint(text)
	return c, by, err
}

// OnlySignedBy returns a signed checkpoint without the lines that none of the keys signed. Somebody who can change its
// file can add such lines, up to a megabyte.
func OnlySignedBy(signed []byte, keys ...ed25519.PublicKey) ([]byte, error) {
	origin, _, _ := strings.Cut(string(signed), "\n")
	opened, _, err := openNote(origin, signed, keys...)
	if err != nil {
		return nil, err
	}
	opened.UnverifiedSigs = nil
	return note.Sign(opened)
}

// VerifierKey returns the public key of a log in the form that witnesses and other tools take.
func VerifierKey(origin string, key ed25519.PublicKey) (string, error) {
	return note.NewEd25519VerifierKey(origin, key)
}

// sign returns a text as a note with a signature of each key.
func sign(name, text string, keys ...ed25519.PrivateKey) ([]byte, error) {
	signers := make([]note.Signer, len(keys))
	for i, key := range keys {
		verifier, err := VerifierKey(name, key.Public().(ed25519.PublicKey))
		if err != nil {
			return nil, fmt.Errorf("translog: %w", err)
		}
		v, err := note.NewVerifier(verifier)
		if err != nil {
			return nil, fmt.Errorf("translog: %w", err)
		}
		signers[i] = signer{v, key}
	}
	return note.Sign(&note.Note{Text: text}, signers...)
}

// signer signs a note with an ed25519 key.
type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

// Sign implements note.Signer.
func (s signer) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(s.key, msg), nil }

// open returns the text of a note and the keys that signed it.
func open(name string, signed []byte, keys ...ed25519.PublicKey) (string, []ed25519.PublicKey, error) {
	opened, by, err := openNote(name, signed, keys...)
	if err != nil {
		return "", nil, err
	}
	return opened.Text, by, nil
}

// openNote returns a note and the keys that signed it.
func openNote(name string, signed []byte, keys ...ed25519.PublicKey) (*note.Note, []ed25519.PublicKey, error) {
	var verifiers []note.Verifier
	owners := map[uint32]ed25519.PublicKey{}
	for _, key := range keys {
		encoded, err := VerifierKey(name, key)
		if err != nil {
			return nil, nil, fmt.Errorf("translog: %w", err)
		}
		v, err := note.NewVerifier(encoded)
		if err != nil {
			return nil, nil, fmt.Errorf("translog: %w", err)
		}
		if _, twice := owners[v.KeyHash()]; !twice {
			owners[v.KeyHash()], verifiers = key, append(verifiers, v)
		}
	}
	opened, err := note.Open(signed, note.VerifierList(verifiers...))
	if err != nil {
		return nil, nil, fmt.Errorf("translog: the note is not signed by a known key: %w", err)
	}
	var by []ed25519.PublicKey
	for _, s := range opened.Sigs {
		by = append(by, owners[s.Hash])
	}
	return opened, by, nil
}
