package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

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
)

// World is a log with the read models of the ledger.
type World struct {
	URL   string
	Pool  *pgxpool.Pool
	Codec *codec.Codec
	Store *postgres.Store
	// names counts the ids, so that they are the same in every run.
	names int
}

// Start is the time at which histories start.
var Start = time.Date(2026, 10, 30, 9, 0, 0, 0, time.UTC)

// New creates an empty log.
func New(t testing.TB) *World {
	t.Helper()
	w := &World{URL: storetest.Database(t, migrations.Up, migrations.Version()), Codec: codec.Events()}
	var err error
	w.Pool, err = postgres.Connect(t.Context(), w.URL)
	require.NoError(t, err)
	t.Cleanup(w.Pool.Close)
	var inline []postgres.Projection
	for _, p := range ledger.Projections() {
		inline = append(inline, p)
	}
	w.Store = postgres.New(w.Pool, w.Codec, postgres.WithProjections(inline...))
	return w
}

// ID returns the next id with a prefix.
func (w *World) ID(prefix string) string {
	w.names++
	return fmt.Sprintf("%s_01K9%022d", prefix, w.names)
}

// meta returns metadata like that of an operator's command.
func (w *World) meta(accountID string) eventstore.Meta {
	request := w.ID("req")
	return eventstore.Meta{
		AccountID: accountID, RequestID: request, CorrelationID: request, CausationID: request, Actor: "operator:ann",
	}
}

// Do decides a command and appends its events. The error is the refusal of the domain.
func (w *World) Do(t testing.TB, accountID string, at time.Time, c credit.Command) ([]credit.Event, error) {
	t.Helper()
	stream := fold.Credit.Stream(accountID)
	histories, err := w.Store.Load(t.Context(), stream)
	require.NoError(t, err)
	state, err := fold.Credit.Restore(histories[stream])
	require.NoError(t, err)
	events, err := credit.Decide(state, c, at)
	if err != nil {
		require.NotNil(t, fault.Of(err), "%v", err)
		return nil, err
	}
	appendTo(t, w, fold.Credit, stream, histories[stream], state, events)
	return events, nil
}

// Must is Do for commands that must succeed.
func (w *World) Must(t testing.TB, accountID string, at time.Time, commands ...credit.Command) {
	t.Helper()
	for _, c := range commands {
		_, err := w.Do(t, accountID, at, c)
		require.NoError(t, err)
	}
}

func appendTo[S any, E eventstore.Event](
	t testing.TB, w *World, of fold.Of[S, E], stream eventstore.StreamID, h eventstore.History, state S, events []E,
) {
	t.Helper()
	if len(events) == 0 {
		return
	}
	write := eventstore.Write{Stream: stream, Expected: h.Version, Chain: h.Chain}
	meta := w.meta(stream.ID)
	for _, e := range events {
		state = of.Evolve(state, e)
		write.Events = append(write.Events, eventstore.NewEvent{Event: e, Meta: meta})
	}
	write.State = state
	_, err := w.Store.Append(t.Context(), eventstore.Batch{Writes: []eventstore.Write{write}})
	require.NoError(t, err)
}

// Live runs random commands on some accounts over about a month, and returns the ids of the
// accounts. The same seed gives the same history.
func (w *World) Live(t testing.TB, seed uint64, accounts, commands int) []string {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the history must be reproducible
	ids := make([]string, accounts)
	open := map[string][]string{}
	posted := map[string][]credit.Original{}
	at := Start
	for i := range ids {
		ids[i] = w.ID("acct")
		w.Must(t, ids[i], at, credit.Grant{AccountID: ids[i], TransactionID: w.ID("txn"), Kind: credit.SignupGrant, Seconds: 6000})
	}
	for range commands {
		at = at.Add(time.Duration(random.IntN(8*3600)) * time.Second)
		id := ids[random.IntN(len(ids))]
		events, _ := w.Do(t, id, at, w.command(random, id, at, open, posted)) // a refusal is fine
		for _, e := range events {
			if txn, ok := credit.TransactionOf(e); ok {
				posted[id] = append(posted[id], txn)
			}
		}
	}
	return ids
}

// command returns a random command, which may be refused. It updates the open holds and the
// refundable transactions.
func (w *World) command(random *rand.Rand, id string, at time.Time, open map[string][]string, posted map[string][]credit.Original) credit.Command {
	seconds := int64(1 + random.IntN(400))
	switch n := random.IntN(11); {
	case n < 4:
		source, kind, discount := w.ID("an"), credit.SourceAnalysis, 0
		switch random.IntN(4) {
		case 0:
			source, kind = w.ID("st"), credit.SourceStream
		case 1:
			discount = 50
		}
		open[id] = append(open[id], source)
		return credit.Hold{
			AccountID: id, HoldID: w.ID("hold"), Seconds: seconds - 1, SourceType: kind, SourceID: source,
			DiscountPct: discount, ExpiresAt: at.Add(24 * time.Hour),
		}
	case n == 10 && len(open[id]) > 0:
		return credit.Extend{SourceID: open[id][0], Seconds: 1 + seconds/4, ExpiresAt: at.Add(24 * time.Hour)}
	case n < 7 && len(open[id]) > 0:
		source := open[id][0]
		open[id] = open[id][1:]
		switch random.IntN(5) {
		case 0:
			return credit.Release{SourceID: source}
		case 1:
			return credit.Expire{SourceID: source}
		}
		return credit.Settle{SourceID: source, TransactionID: w.ID("txn"), Seconds: seconds}
	case n < 8 && len(posted[id]) > 0:
		return credit.Refund{
			TransactionID: w.ID("txn"), Original: posted[id][random.IntN(len(posted[id]))], Seconds: 1 + seconds/8,
			Reason: `they said "no; thanks", twice`,
		}
	}
	kinds := []credit.Kind{credit.CardGrant, credit.Purchase, credit.Adjustment}
	g := credit.Grant{
		AccountID: id, TransactionID: w.ID("txn"), Kind: kinds[random.IntN(len(kinds))], Seconds: seconds * 3,
		Reason: "invoice 7; paid, | with \\ and \"quotes\"\nand a second line",
	}
	if g.Kind == credit.Adjustment && random.IntN(2) == 0 {
		g.Seconds = -seconds
	}
	return g
}
