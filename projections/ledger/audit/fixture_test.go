package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
	"vqa/projections/ledger"
	"vqa/projections/ledger/audit"
)

// world is a log with the read models of the ledger inline, as in the service.
type world struct {
	// owner may change what the service may not.
	owner, pool *pgxpool.Pool
	store       *postgres.Store
	guard       *postgres.Guard
	key         ed25519.PrivateKey
	now         time.Time
	// ids counts the ids that were used.
	ids      int
	accounts map[string]*sim
}

// sim is an account as recorded in the log.
type sim struct {
	id      string
	version int64
	chain   eventstore.Chain
	state   credit.State

	transactions []credit.Original
}

var start = time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		key: ed25519.NewKeyFromSeed([]byte("a key that is for tests only, ok")), now: start, accounts: map[string]*sim{},
	}
	url := storetest.Database(t, migrations.Up, migrations.Version())
	var err error
	w.pool, err = postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(w.pool.Close)
	w.owner, err = pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(w.owner.Close)
	var inline []postgres.Projection
	for _, p := range ledger.Projections() {
		inline = append(inline, p)
	}
	w.guard, err = postgres.OpenGuard(t.Context(), w.pool, bytes.Repeat([]byte{7}, 32))
	require.NoError(t, err)
	w.store = postgres.New(w.pool, codec.Events(), postgres.WithProjections(inline...), postgres.WithGuard(w.guard))

	keys, err := credit.DecideLedgerKey(credit.LedgerKeys{}, credit.AddLedgerKey{Key: w.key.Public().(ed25519.PublicKey)}, w.now)
	require.NoError(t, err)
	_, err = w.store.Append(t.Context(), eventstore.Batch{Writes: []eventstore.Write{{
		Stream: fold.LedgerKeys.Stream(credit.LedgerKeysID),
		Events: []eventstore.NewEvent{{Event: keys[0], Meta: eventstore.Meta{AccountID: credit.LedgerKeysID, Actor: "system:test"}}},
	}}})
	require.NoError(t, err)
	return w
}

func (w *world) account(id string) *sim {
	if w.accounts[id] == nil {
		w.accounts[id] = &sim{id: id}
	}
	return w.accounts[id]
}

// id returns a new id with a prefix.
func (w *world) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s_%06d", prefix, w.ids)
}

// meta returns metadata like that of the service.
func (w *world) meta(accountID string) eventstore.Meta {
	request := w.id("req")
	return eventstore.Meta{AccountID: accountID, RequestID: request, CorrelationID: request, CausationID: request, Actor: "key_test"}
}

// decide runs commands on an account and returns the write of their events. A refused
// command has none.
func (w *world) decide(t testing.TB, a *sim, commands ...credit.Command) eventstore.Write {
	write := eventstore.Write{Stream: fold.Credit.Stream(a.id), Expected: a.version, Chain: a.chain}
	for _, c := range commands {
		w.now = w.now.Add(time.Second)
		events, err := credit.Decide(a.state, c, w.now)
		if f := fault.Of(err); f == nil {
			require.NoError(t, err)
		}
		for _, e := range events {
			a.state = credit.Evolve(a.state, e)
			if original, ok := credit.TransactionOf(e); ok {
				a.transactions = append(a.transactions, original)
			}
			write.Events = append(write.Events, eventstore.NewEvent{Event: e, Meta: w.meta(a.id)})
		}
	}
	write.State = a.state
	return write
}

// append records the writes that have events.
func (w *world) append(ctx context.Context, t testing.TB, writes ...eventstore.Write) {
	t.Helper()
	writes = slices.DeleteFunc(writes, func(w eventstore.Write) bool { return len(w.Events) == 0 })
	if len(writes) == 0 {
		return
	}
	recorded, err := w.store.Append(ctx, eventstore.Batch{Writes: writes})
	require.NoError(t, err)
	for _, r := range recorded {
		a := w.account(r.Stream.ID)
		a.version, a.chain = r.Version, r.Chain
	}
}

// do runs commands and records their events at once.
func (w *world) do(t testing.TB, id string, commands ...credit.Command) {
	t.Helper()
	w.append(t.Context(), t, w.decide(t, w.account(id), commands...))
}

func (w *world) grant(id string, seconds int64) credit.Command {
	return credit.Grant{AccountID: id, TransactionID: w.id("txn"), Kind: credit.Purchase, Seconds: seconds, Reason: "invoice"}
}

func (w *world) hold(id, source string, seconds int64) credit.Command {
	return credit.Hold{
		AccountID: id, HoldID: w.id("hold"), Seconds: seconds, SourceType: credit.SourceAnalysis, SourceID: source,
		ExpiresAt: w.now.Add(24 * time.Hour),
	}
}

func (w *world) settle(source string, seconds int64) credit.Command {
	return credit.Settle{SourceID: source, TransactionID: w.id("txn"), Seconds: seconds}
}

// random returns a random command for an account.
func (w *world) random(a *sim, r *rand.Rand) credit.Command {
	source := fmt.Sprintf("anl_%s_%d", a.id, r.IntN(4))
	switch n := r.IntN(11); {
	case n == 10:
		return credit.Extend{SourceID: source, Seconds: r.Int64N(100) + 1, ExpiresAt: w.now.Add(24 * time.Hour)}
	case n < 2:
		return w.grant(a.id, r.Int64N(1000)+1)
	case n < 3:
		return credit.Grant{AccountID: a.id, TransactionID: w.id("txn"), Kind: credit.Adjustment, Seconds: r.Int64N(200) - 100, Reason: "correction"}
	case n < 6:
		return w.hold(a.id, source, r.Int64N(300))
	case n < 8:
		return w.settle(source, r.Int64N(400))
	case n < 9 || len(a.transactions) == 0:
		return credit.Release{SourceID: source}
	default:
		return credit.Refund{
			TransactionID: w.id("txn"), Original: a.transactions[r.IntN(len(a.transactions))], Seconds: r.Int64N(50) + 1, Reason: "goodwill",
		}
	}
}

// auditor returns an auditor that has the key of the MACs.
func (w *world) auditor() audit.Auditor {
	return audit.Auditor{Pool: w.pool, Codec: codec.Events(), Models: ledger.Projections(), MACs: w.guard, Readers: 2}
}

// audit verifies in pieces of the default size and in small ones. Both reports must be
// equal.
func (w *world) audit(t testing.TB, a audit.Auditor, scope audit.Scope) audit.Report {
	t.Helper()
	report, err := a.Verify(t.Context(), scope, func(int64, int64) {})
	require.NoError(t, err)
	again, err := a.InSmallPieces().Verify(t.Context(), scope, func(int64, int64) {})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(report, again), "large and small pieces")
	return report
}
