package httpapi_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/eventstore/codec"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/eventstore/translog"
	"vqa/handlers/anchor"
	"vqa/handlers/httpapi"
	"vqa/handlers/prove"
	"vqa/handlers/seal"
	"vqa/migrations"
)

// TestEachTransactionHasAProof follows proof_url of each transaction before and after a pass of the sealer.
func TestEachTransactionHasAProof(t *testing.T) {
	t.Parallel()
	files, err := anchor.Open(t.Context(), anchor.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	prover := &prove.Prover{Anchors: seal.Anchors{Files: files}, Tiles: files}
	database := storetest.Database(t, migrations.Up, migrations.Version())
	w := openOn(t, database, func(o *httpapi.Options) { o.Proofs = prover })
	events := postgres.New(w.pool, codec.Events())
	prover.Rows = events
	seed := sha256.Sum256([]byte("a key for tests"))
	key := ed25519.NewKeyFromSeed(seed[:])
	sealer := seal.New(seal.Options{
		Events: events, Commands: w.service, Codec: codec.Events(), Anchors: prover.Anchors, Tiles: files, Key: key,
		Origin: "vqa.example/ledger", Now: w.now, Log: slog.New(slog.DiscardHandler),
	})
	seals := func() {
		t.Helper()
		sealed, err := sealer.Pass(t.Context())
		require.NoError(t, err)
		require.True(t, sealed)
	}
	c := w.customer(100)
	c.ask(c.ready(), "Is there a dog?")

	transactions := func() []any { return c.do(http.MethodGet, "/v1/credits", "").at("transactions").([]any) }
	path := func(transaction any) string {
		url := transaction.(map[string]any)["proof_url"].(string)
		require.True(t, strings.HasPrefix(url, w.url+"/v1/credits/txn_"), url)
		return strings.TrimPrefix(url, w.url)
	}
	first := transactions()
	require.NotEmpty(t, first)
	pending := c.do(http.MethodGet, path(first[0]), "")
	require.Equal(t, http.StatusAccepted, pending.StatusCode, string(pending.raw))
	require.Equal(t, "pending", pending.at("status"))
	require.Equal(t, "15", pending.Header.Get("Retry-After"))

	seals()
	for i, transaction := range transactions() {
		got := c.do(http.MethodGet, path(transaction), "")
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		require.Contains(t, got.Header.Get("Content-Type"), "text/plain")
		proof, err := translog.ParseProof(got.raw)
		require.NoError(t, err)
		checkpoint, err := proof.Verify(nil, key.Public().(ed25519.PublicKey))
		require.NoError(t, err)
		require.Equal(t, sealer.Newest().Checkpoint, checkpoint)
		leaf, err := translog.ParseLeaf(proof.Record)
		require.NoError(t, err)
		require.Equal(t, "credit/"+c.key.AccountID, leaf.Stream)
		id := transaction.(map[string]any)["id"]
		var chain string
		require.NoError(t, w.pool.QueryRow(t.Context(), `select encode(chain, 'hex') from events
			where stream = $1 and version = $2 and data->>'transaction_id' = $3`, leaf.Stream, leaf.Version, id).Scan(&chain), "transaction %d", i)
		require.Equal(t, chain, fmt.Sprintf("%x", leaf.Chain), "the leaf is that of the transaction")
	}

	// The sealer removes the partial tiles of older checkpoints. Proofs are read from a newer one then.
	for range 3 {
		w.advance(2 * time.Hour)
		c.ready()
		seals()
	}
	got := c.do(http.MethodGet, path(first[0]), "")
	require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))

	// A row that was changed after it was sealed gets no proof.
	owner, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	_, err = owner.Exec(t.Context(), "alter table events disable trigger events_append_only")
	require.NoError(t, err)
	_, err = owner.Exec(t.Context(), "update events set recorded_at = recorded_at - interval '1 second' where stream = $1", "credit/"+c.key.AccountID)
	require.NoError(t, err)
	w.refused(c.do(http.MethodGet, path(first[0]), ""), 500, fault.InternalError, "")
}
