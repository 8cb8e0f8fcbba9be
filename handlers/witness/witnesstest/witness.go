package witnesstest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"vqa/eventstore/translog"
)

// cosignatureAlgorithm is the first byte of the key of a witness.
const cosignatureAlgorithm = 4

// mostBody bounds a request, in bytes.
const mostBody = 64 << 10

// Witness is an http.Handler of the path /add-checkpoint. It trusts one key of any log.
type Witness struct {
	name string
	key  ed25519.PrivateKey
	log  ed25519.PublicKey

	mu    sync.Mutex
	trees map[string]translog.Tree
	// down is the status of all responses, unless it is 0.
	down, asked int
}

// New returns a witness that cosigns the logs that a key signs.
func New(name string, log ed25519.PublicKey) *Witness {
	seed := sha256.Sum256([]byte(name))
	return &Witness{name: name, key: ed25519.NewKeyFromSeed(seed[:]), log: log, trees: map[string]translog.Tree{}}
}

// VerifierKey returns the key that verifies the cosignatures.
func (w *Witness) VerifierKey() string {
	raw, hash := w.public()
	return fmt.Sprintf("%s+%x+%s", w.name, hash, base64.StdEncoding.EncodeToString(raw))
}

func (w *Witness) public() (raw, hash []byte) {
	raw = append([]byte{cosignatureAlgorithm}, w.key.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256(append([]byte(w.name+"\n"), raw...))
	return raw, sum[:4]
}

// Fail makes the witness answer with a status; 0 ends that.
func (w *Witness) Fail(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = status
}

// Asked returns the number of requests.
func (w *Witness) Asked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// Size returns the size of the newest tree of a log that it has cosigned.
func (w *Witness) Size(origin string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trees[origin].Size
}

// Cosign returns the signature line on a signed checkpoint.
func (w *Witness) Cosign(signed []byte, at time.Time) []byte {
	text, _, _ := bytes.Cut(signed, []byte("\n\n"))
	_, hash := w.public()
	line := binary.BigEndian.AppendUint64(hash, uint64(at.Unix())) //nolint:gosec // seconds since 1970
	line = append(line, ed25519.Sign(w.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", at.Unix(), text))...)
	return fmt.Appendf(nil, "— %s %s\n", w.name, base64.StdEncoding.EncodeToString(line))
}

// ServeHTTP implements http.Handler.
func (w *Witness) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.down != 0 {
		http.Error(out, "down", w.down)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostBody))
	head, signed, ok := bytes.Cut(body, []byte("\n\n"))
	if err != nil || !ok || r.URL.Path != "/add-checkpoint" {
		http.Error(out, "bad request", http.StatusBadRequest)
		return
	}
	lines := strings.Split(string(head), "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if err != nil {
		http.Error(out, "bad size", http.StatusBadRequest)
		return
	}
	var proof []translog.Hash
	for _, line := range lines[1:] {
		h, err := translog.ParseHash(line)
		if err != nil {
			http.Error(out, "bad hash", http.StatusBadRequest)
			return
		}
		proof = append(proof, h)
	}
	w.add(out, old, proof, signed)
}

func (w *Witness) add(out http.ResponseWriter, old int64, proof []translog.Hash, signed []byte) {
	c, _, err := translog.OpenCheckpoint(signed, w.log)
	known := w.trees[c.Origin]
	switch {
	case err != nil:
		http.Error(out, err.Error(), http.StatusForbidden)
	case old > c.Size:
		http.Error(out, "the old size is larger", http.StatusBadRequest)
	case old != known.Size, old == c.Size && known.Root != c.Root:
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintf(out, "%d\n", known.Size)
	case translog.VerifyConsistency(known, c.Tree, proof) != nil:
		http.Error(out, "inconsistent", http.StatusUnprocessableEntity)
	default:
		w.trees[c.Origin] = c.Tree
		_, _ = out.Write(w.Cosign(signed, time.Now()))
	}
}
