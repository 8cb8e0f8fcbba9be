package export_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/id"
	"vqa/handlers/anchor"
	"vqa/handlers/command"
	"vqa/handlers/prove"
	"vqa/handlers/seal"
	"vqa/projections/ledger/internal/history"
)

// platform is a ledger with its transparency log.
type platform struct {
	*history.World
	sealer *seal.Sealer
	prover *prove.Prover
	newest seal.Head
}

// newPlatform returns an empty ledger. The key of its log depends on a name alone.
func newPlatform(t testing.TB, name string) *platform {
	t.Helper()
	p := &platform{World: history.New(t)}
	files, err := anchor.Open(t.Context(), anchor.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	seed := sha256.Sum256([]byte(name))
	p.sealer = seal.New(seal.Options{
		Events: p.Store, Commands: command.NewService(command.Dependencies{Store: p.Store, Now: time.Now, IDs: id.NewSource(time.Now, rand.Reader)}),
		Codec: p.Codec, Anchors: seal.Anchors{Files: files}, Tiles: files,
		Key: ed25519.NewKeyFromSeed(seed[:]), Origin: "vqa.example/ledger", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	p.prover = &prove.Prover{Rows: p.Store, Codec: p.Codec, Anchors: p.sealer.Anchors, Tiles: files}
	return p
}

// pass seals the log.
func (p *platform) pass(t testing.TB) seal.Head {
	t.Helper()
	sealed, err := p.sealer.Pass(t.Context())
	require.NoError(t, err)
	require.True(t, sealed)
	p.newest = p.sealer.Newest()
	return p.newest
}

func (p *platform) key() ed25519.PublicKey { return p.sealer.PublicKey() }

// pin is the key as verify.py takes it.
func (p *platform) pin() string { return base64.StdEncoding.EncodeToString(p.key()) }
