package translog

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Action is the effect of a key statement.
type Action string

// The actions.
const (
	// Pin names the first key of the log.
	Pin Action = "pin"
	// Rotate replaces the current key. Both sign.
	Rotate Action = "rotate"
	// Replace replaces a key that was lost. The new key alone signs.
	Replace Action = "replace"
	// Revoke ends the trust in checkpoints of a key beyond a size.
	Revoke Action = "revoke"
)

// statementFormat is the first line of a key statement.
const statementFormat = "vqa-ledger-key-1"

// Statement is an act about the keys of the logs of an installation. It is kept outside the database, in
// a file that is written once.
type Statement struct {
	// Number counts the statements from 1.
	Number int64
	Action Action
	// Key is the new key, or the revoked one.
	Key ed25519.PublicKey
	// Log is the number of the log, from 1, and Size the number of its leaves: of the last checkpoint of
	// the old key, or the last trusted one of a revoked key.
	Log, Size int64
	// Previous is the digest of the statement before, empty for the first.
	Previous      string
	Reason, Actor string
	At            time.Time
}

// Text returns the lines that are signed.
func (s Statement) Text() string {
	return strings.Join([]string{
		statementFormat, number(s.Number), string(s.Action), base64.StdEncoding.EncodeToString(s.Key), number(s.Log), number(s.Size),
		"previous " + s.Previous, "reason " + oneLine(s.Reason), "by " + oneLine(s.Actor), s.At.UTC().Format(TimeFormat), "",
	}, "\n")
}

// oneLine replaces the characters that a line of a note cannot have.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// Digest returns the SHA-256 of the text in hexadecimal.
func (s Statement) Digest() string {
	sum := sha256.Sum256([]byte(s.Text()))
	return hex.EncodeToString(sum[:])
}

// keyNote is the name under which keys sign statements.
const keyNote = "vqa-ledger-keys"

// Sign returns the statement as a note with a signature of each key.
func (s Statement) Sign(keys ...ed25519.PrivateKey) ([]byte, error) {
	return sign(keyNote, s.Text(), keys...)
}

// parseStatement parses a signed statement. It verifies no signature.
func parseStatement(signed []byte) (Statement, error) {
	text, _, ok := bytes.Cut(signed, []byte("\n\n"))
	lines := strings.Split(string(text), "\n")
	if !ok || len(lines) != 10 || lines[0] != statementFormat {
		return Statement{}, fmt.Errorf("translog: a key statement has ten lines and begins with %s", statementFormat)
	}
	s := Statement{
		Action: Action(lines[2]), Previous: strings.TrimPrefix(lines[6], "previous "),
		Reason: strings.TrimPrefix(lines[7], "reason "), Actor: strings.TrimPrefix(lines[8], "by "),
	}
	for i, into := range map[int]*int64{1: &s.Number, 4: &s.Log, 5: &s.Size} {
		n, err := parseNumber(lines[i])
		if err != nil {
			return Statement{}, err
		}
		*into = n
	}
	key, err := base64.StdEncoding.DecodeString(lines[3])
	if err != nil || len(key) != ed25519.PublicKeySize {
		return Statement{}, errors.New("translog: the key of a key statement is not an ed25519 key")
	}
	s.Key = key
	if s.At, err = time.Parse(TimeFormat, lines[9]); err != nil {
		return Statement{}, fmt.Errorf("translog: the time of a key statement: %w", err)
	}
	if s.Text() != string(text)+"\n" {
		return Statement{}, errors.New("translog: the key statement is not in its canonical form")
	}
	return s, nil
}

// Keys are the keys of the logs of an installation, by their statements.
type Keys struct {
	// Statements are all statements, oldest first.
	Statements []Statement
	// Current is the key that signs. It is nil before the first statement.
	Current ed25519.PublicKey
}

// Lost reports whether a key was replaced without the signature of the one before. Verification shows
// it always.
func (k Keys) Lost() bool {
	for _, s := range k.Statements {
		if s.Action == Replace {
			return true
		}
	}
	return false
}

// ReplacedFrom returns the statement that replaced a key without its signature, unless the key is the current one
// again. It returns nil when there is none.
func (k Keys) ReplacedFrom(key ed25519.PublicKey) *Statement {
	var by *Statement
	var current ed25519.PublicKey
	for i, s := range k.Statements {
		switch {
		case s.Action == Revoke:
			continue
		case s.Key.Equal(key):
			by = nil
		case s.Action == Replace && current.Equal(key):
			by = &k.Statements[i]
		}
		current = s.Key
	}
	return by
}

// Extend reports whether the statements begin with those of older keys.
func (k Keys) Extend(older Keys) bool {
	n := len(older.Statements)
	return n == 0 || len(k.Statements) >= n && k.Statements[n-1].Digest() == older.Statements[n-1].Digest()
}

// ReadKeys folds the signed statements, oldest first. With pins, one of them must be the key that the log
// began with, or a key that replaced a lost one. Error: a statement is missing, altered, not signed by the
// keys that must sign it, or contradicts the pins.
func ReadKeys(signed [][]byte, pins ...ed25519.PublicKey) (Keys, error) {
	var keys Keys
	for i, note := range signed {
		s, err := parseStatement(note)
		if err != nil {
			return Keys{}, fmt.Errorf("key statement %d: %w", i+1, err)
		}
		if err := keys.follow(s, note); err != nil {
			return Keys{}, fmt.Errorf("key statement %d: %w", i+1, err)
		}
		keys.Statements = append(keys.Statements, s)
		if s.Action != Revoke {
			keys.Current = s.Key
		}
		if replaces := s.Action == Pin || s.Action == Replace; replaces && len(pins) > 0 && !pinned(pins, s.Key) {
			return Keys{}, fmt.Errorf("key statement %d: translog: the key %s is not pinned", i+1, base64.StdEncoding.EncodeToString(s.Key))
		}
	}
	return keys, nil
}

func pinned(pins []ed25519.PublicKey, key ed25519.PublicKey) bool {
	for _, p := range pins {
		if p.Equal(key) {
			return true
		}
	}
	return false
}

// follow checks that a statement may come after the others.
func (k Keys) follow(s Statement, signed []byte) error {
	previous := ""
	if n := len(k.Statements); n > 0 {
		previous = k.Statements[n-1].Digest()
	}
	if s.Number != int64(len(k.Statements))+1 || s.Previous != previous {
		return errors.New("translog: it does not follow from the statement before it")
	}
	signers := []ed25519.PublicKey{s.Key}
	switch s.Action {
	case Pin:
		if k.Current != nil {
			return errors.New("translog: only the first statement pins a key")
		}
	case Rotate:
		signers = append(signers, k.Current)
	case Replace:
	case Revoke:
		signers = []ed25519.PublicKey{k.Current}
		if s.Key.Equal(k.Current) {
			return errors.New("translog: the current key cannot be revoked; rotate it first")
		}
		if !k.knows(s.Key) {
			return errors.New("translog: the revoked key never signed")
		}
	default:
		return fmt.Errorf("translog: the action %q is unknown", s.Action)
	}
	if s.Action != Pin && k.Current == nil {
		return errors.New("translog: the first statement must pin a key")
	}
	_, by, err := open(keyNote, signed, signers...)
	if err != nil {
		return err
	}
	for _, want := range signers {
		if !pinned(by, want) {
			return errors.New("translog: a key that must sign it has not")
		}
	}
	return nil
}

func (k Keys) knows(key ed25519.PublicKey) bool {
	for _, s := range k.Statements {
		if s.Action != Revoke && s.Key.Equal(key) {
			return true
		}
	}
	return false
}

// Next returns the statement that follows, to be completed and signed.
func (k Keys) Next(action Action, key ed25519.PublicKey) Statement {
	s := Statement{Number: int64(len(k.Statements)) + 1, Action: action, Key: key}
	if n := len(k.Statements); n > 0 {
		s.Previous = k.Statements[n-1].Digest()
	}
	return s
}

// ErrUntrustedKey says that a checkpoint is signed by a key that may not sign it.
var ErrUntrustedKey = errors.New("translog: the checkpoint is not signed by a key that may sign it")

// Open verifies a signed checkpoint of the log with a number. It must be signed by a key that was the
// current one at its size, and not revoked for this size. Errors: ErrUntrustedKey, or the text is not a
// checkpoint.
func (k Keys) Open(log int64, signed []byte) (Checkpoint, error) {
	c, by, err := OpenCheckpoint(signed, k.All()...)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrUntrustedKey, err)
	}
	for _, key := range by {
		if k.May(key, log, c.Size) {
			return c, nil
		}
	}
	return Checkpoint{}, ErrUntrustedKey
}

// All returns every key that ever was the current one.
func (k Keys) All() []ed25519.PublicKey {
	var all []ed25519.PublicKey
	for _, s := range k.Statements {
		if s.Action != Revoke {
			all = append(all, s.Key)
		}
	}
	return all
}

// May reports whether a key may sign the checkpoint of a size of the log with a number.
func (k Keys) May(key ed25519.PublicKey, log, size int64) bool {
	may := false
	for _, s := range k.Statements {
		beyond := log > s.Log || log == s.Log && size > s.Size
		switch {
		case s.Action == Revoke:
			if s.Key.Equal(key) && beyond {
				may = false
			}
		case s.Key.Equal(key):
			may = may || beyond || s.Action == Pin
		case beyond:
			may = false // another key has replaced it
		}
	}
	return may
}

// Accepts returns nil when a signed statement may come after the others.
func (k Keys) Accepts(signed []byte) error {
	s, err := parseStatement(signed)
	if err != nil {
		return err
	}
	return k.follow(s, signed)
}
