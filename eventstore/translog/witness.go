package translog

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// cosignatureAlgorithm is the first byte of the key of a witness.
const cosignatureAlgorithm = 4

// Sizes of the parts of a cosignature, in bytes.
const (
	keyHashSize   = 4
	timestampSize = 8
)

// Witness verifies the cosignatures of one witness (https://c2sp.org/tlog-cosignature).
type Witness struct {
	Name string
	hash uint32
	key  ed25519.PublicKey
}

// ParseWitness parses the verifier key of a witness: "name+hash+key", with a key for ed25519
// cosignatures. Its errors do not repeat the key.
func ParseWitness(verifierKey string) (Witness, error) {
	name, rest, _ := strings.Cut(verifierKey, "+")
	hash, encoded, _ := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != cosignatureAlgorithm || CheckOrigin(name) != nil {
		return Witness{}, errors.New("the verifier key is not name+hash+key with a key for ed25519 cosignatures")
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), raw...))
	w := Witness{name, binary.BigEndian.Uint32(sum[:]), raw[1:]}
	if fmt.Sprintf("%08x", w.hash) != hash {
		return Witness{}, errors.New("the hash in the verifier key does not match its name and key")
	}
	return w, nil
}

// Cosigned returns the time of the witness's cosignature on a checkpoint. Error: it has none, or it is
// wrong.
func (w Witness) Cosigned(signed []byte) (time.Time, error) {
	opened, err := note.Open(signed, note.VerifierList(witnessKey{w}))
	if err != nil {
		return time.Time{}, fmt.Errorf("translog: %s has not cosigned the checkpoint: %w", w.Name, err)
	}
	raw, err := base64.StdEncoding.DecodeString(opened.Sigs[0].Base64)
	if err != nil || len(raw) < keyHashSize+timestampSize {
		return time.Time{}, fmt.Errorf("translog: the cosignature of %s is cut", w.Name)
	}
	return time.Unix(int64(binary.BigEndian.Uint64(raw[keyHashSize:])), 0).UTC(), nil //nolint:gosec // seconds since 1970
}

// witnessKey implements note.Verifier.
type witnessKey struct{ of Witness }

// Name implements note.Verifier.
func (k witnessKey) Name() string { return k.of.Name }

// KeyHash implements note.Verifier.
func (k witnessKey) KeyHash() uint32 { return k.of.hash }

// Verify implements note.Verifier. The witness signs the time and the text.
func (k witnessKey) Verify(msg, sig []byte) bool {
	if len(sig) != timestampSize+ed25519.SignatureSize {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	signed := fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", at, msg)
	return ed25519.Verify(k.of.key, signed, sig[timestampSize:])
}

// ID identifies the key of the witness: 8 hexadecimal digits.
func (w Witness) ID() string { return fmt.Sprintf("%08x", w.hash) }

// mostLines bounds the signature lines of a response.
const mostLines = 16

// Cosignature returns the line among the lines of a response that is the witness's cosignature on a signed
// checkpoint, and its time. It ignores other lines. Error: no line is.
func (w Witness) Cosignature(signed, lines []byte) (line []byte, at time.Time, err error) {
	n := 0
	for line := range bytes.Lines(lines) {
		if n++; n > mostLines {
			break
		}
		if !bytes.HasSuffix(line, []byte("\n")) {
			continue // Cosigned would read a cut line together with the next one
		}
		if at, err := w.Cosigned(append(bytes.Clone(signed), line...)); err == nil {
			return line, at, nil
		}
	}
	return nil, time.Time{}, fmt.Errorf("translog: the response of %s has no cosignature of the checkpoint that its key verifies", w.Name)
}

// AddCheckpointRequest returns the body of a request of https://c2sp.org/tlog-witness: the size that the
// witness knows, the consistency proof from it, and the signed checkpoint. The proof is empty when the
// witness knows size 0.
func AddCheckpointRequest(oldSize int64, proof []Hash, signed []byte) []byte {
	body := fmt.Appendf(nil, "old %d\n", oldSize)
	for _, h := range proof {
		body = fmt.Appendln(body, h.String())
	}
	return append(append(body, '\n'), signed...)
}
