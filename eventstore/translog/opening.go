package translog

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// openingFormat is the first line of an opening.
const openingFormat = "vqa-ledger-log-1"

// Opening begins a log. It is kept outside the database, in a file that is written once.
type Opening struct {
	// Number counts the logs of an installation from 1.
	Number int64
	// Origin is the origin of the checkpoints of the log.
	Origin string
	// Restart is the first leaf of a log that continues an earlier one. It is nil for the first log.
	Restart *Restart
}

// OriginOf returns the origin of the log with a number: the first origin, with the number after a slash
// from the second log on.
func OriginOf(first string, log int64) string {
	if log == 1 {
		return first
	}
	return fmt.Sprintf("%s/%d", first, log)
}

// Text returns the lines that are signed.
func (o Opening) Text() string {
	restart := "-"
	if o.Restart != nil {
		restart = base64.StdEncoding.EncodeToString(o.Restart.Record())
	}
	return strings.Join([]string{openingFormat, number(o.Number), o.Origin, restart, ""}, "\n")
}

// Sign returns the opening as a note.
func (o Opening) Sign(key ed25519.PrivateKey) ([]byte, error) {
	if err := CheckOrigin(o.Origin); err != nil {
		return nil, err
	}
	return sign(keyNote, o.Text(), key)
}

// OpenOpening verifies a signed opening. Error: none of the keys signed it, or it is not an opening.
func (k Keys) OpenOpening(signed []byte) (Opening, error) {
	text, _, err := open(keyNote, signed, k.All()...)
	if err != nil {
		return Opening{}, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || lines[0] != openingFormat {
		return Opening{}, fmt.Errorf("translog: an opening has four lines and begins with %s", openingFormat)
	}
	o := Opening{Origin: lines[2]}
	if o.Number, err = parseNumber(lines[1]); err != nil {
		return Opening{}, err
	}
	if lines[3] != "-" {
		record, err := base64.StdEncoding.DecodeString(lines[3])
		if err != nil {
			return Opening{}, fmt.Errorf("translog: the restart in an opening: %w", err)
		}
		r, err := ParseRestart(record)
		if err != nil {
			return Opening{}, err
		}
		o.Restart = &r
	}
	if o.Text() != text || o.Number < 1 || CheckOrigin(o.Origin) != nil {
		return Opening{}, errors.New("translog: the opening is not in its canonical form")
	}
	return o, nil
}

// SaltedHash returns the SHA-256 of a salt and a record in hexadecimal. Nobody can guess the record without
// the salt.
func SaltedHash(salt, record []byte) string {
	sum := sha256.Sum256(bytes.Join([][]byte{salt, record}, nil))
	return hex.EncodeToString(sum[:])
}

// Outdated returns the paths of the tiles and of the bundle that a log of size leaves needs and a larger
// one does not.
func Outdated(size, larger int64) []string {
	needed := partials(larger)
	return slices.DeleteFunc(partials(size), func(path string) bool { return slices.Contains(needed, path) })
}

// partials returns the paths of the tiles and of the bundle that are partial in a log of size leaves.
func partials(size int64) []string {
	var paths []string
	if size%TileWidth != 0 {
		paths = append(paths, BundlePath(size-1, size))
	}
	for level, n := 0, size; n > 0; level, n = level+1, n/TileWidth {
		if n%TileWidth != 0 {
			paths = append(paths, partialPath(level, n))
		}
	}
	return paths
}
