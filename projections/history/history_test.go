package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/credit"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
	"vqa/projections/history"
	"vqa/projections/ledger"
	"vqa/projections/resources"
)

// The ids of the recorded requests.
const (
	acct    = "acct_01M7XSPCTGAYRRRBPGJ93TRCSN"
	key     = "key_01M7XSPCTGAYRRRBPGJBTKSDQ0"
	grant   = "txn_01M7XSPCTH0YG5VE2R8KPNG005"
	hold    = "txn_01M7XSQ3Q9W3ZVH4TBA3VPPE33"
	debit   = "txn_01M7XSQGEJVBX1KGTNHTQ6YTZ7"
	clip    = "video_01M7XSQ3AWCM23PGJ6C0KBCAQR"
	asked   = "an_01M7XSQ3Q33626X8KQ1GH1DBAZ"
	opening = "req_01M7XSPCR14GGRZ3F8J0N74744"
	upload  = "req_01M7XSQ1Q33626X8KQ1DG3Q2XR"
	asking  = "req_01M7XSQ3Q33626X8KQ1DG3Q2XR"
)

// world is a log with the recorded requests.
type world struct {
	*testing.T
	pool   *pgxpool.Pool
	store  *postgres.Store
	reader *history.Reader
	states map[eventstore.StreamID]any
}

func newWorld(t *testing.T) world {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), storetest.Database(t, migrations.Up, migrations.Version()))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	var inline []postgres.Projection
	for _, p := range append(resources.Projections(), ledger.Projections()...) {
		inline = append(inline, p)
	}
	store := postgres.New(pool, codec.Events(), postgres.WithProjections(inline...))
	return world{t, pool, store, history.NewReader(pool, store, codec.Events()), map[eventstore.StreamID]any{}}
}

// append records events of several streams in one append, as one request or job does.
func (w world) append(meta eventstore.Meta, events ...placed) []eventstore.Recorded {
	w.Helper()
	meta.AccountID = acct
	var batch eventstore.Batch
	for _, e := range events {
		histories, err := w.store.Load(w.Context(), e.stream)
		require.NoError(w, err)
		aggregate, _ := fold.Named(e.stream.Category)
		w.states[e.stream], err = aggregate.FoldAny(w.states[e.stream], eventstore.Recorded{Event: e.event})
		require.NoError(w, err)
		h := histories[e.stream]
		batch.Writes = append(batch.Writes, eventstore.Write{
			Stream: e.stream, Expected: h.Version, Chain: h.Chain, State: w.states[e.stream],
			Events: []eventstore.NewEvent{{Event: e.event, Meta: meta}},
		})
	}
	recorded, err := w.store.Append(w.Context(), batch)
	require.NoError(w, err)
	return recorded
}

type placed struct {
	stream eventstore.StreamID
	event  eventstore.Event
}

func by(request, actor string) eventstore.Meta {
	return eventstore.Meta{RequestID: request, CorrelationID: request, CausationID: request, Actor: actor}
}

// reported returns the metadata of an event that a job reports about another event.
func reported(request string, cause eventstore.Recorded) eventstore.Meta {
	m := by(request, "system:worker")
	m.CausationID = fmt.Sprint("position:", cause.Position)
	return m
}

// record appends an account with a grant, a video, and an analysis whose first attempt was
// lost.
func (w world) record() {
	w.Helper()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w.append(by(opening, "operator:root"),
		placed{fold.Account.Stream(acct), account.Opened{AccountID: acct, Tier: account.Paid, At: at}},
		placed{fold.Credit.Stream(acct), credit.Granted{
			AccountID: acct, TransactionID: grant, Kind: credit.SignupGrant, Seconds: 100, BalanceAfter: 100, At: at,
		}})
	w.append(by(opening, "operator:root"), placed{fold.Account.Stream(acct), account.KeyIssued{
		AccountID: acct, KeyID: key, Mode: account.Live, Tier: account.Paid, SecretHash: strings.Repeat("0", 64), At: at,
	}})
	w.append(by(upload, key), placed{fold.Video.Stream(clip), video.Registered{
		VideoID: clip, AccountID: acct, Livemode: true, Source: video.SourceUpload, At: at,
	}})
	created := w.append(by(asking, key),
		placed{fold.Video.Stream(clip), video.AnalysisOpened{VideoID: clip, AnalysisID: asked, At: at}},
		placed{fold.Credit.Stream(acct), credit.Held{
			AccountID: acct, HoldID: hold, Seconds: 40, SourceType: credit.SourceAnalysis, SourceID: asked, At: at, ExpiresAt: at,
		}},
		placed{fold.Analysis.Stream(asked), analysis.Created{
			AnalysisID: asked, AccountID: acct, VideoID: clip, Livemode: true, Origin: analysis.OriginAPI, HeldSeconds: 40, At: at,
		}})[2]
	w.job("discarded", 1, created, "the worker was lost")
	w.append(reported(asking, created), placed{fold.Analysis.Stream(asked), analysis.Started{AnalysisID: asked, Attempt: 1, Worker: "n1", At: at}})
	w.job("completed", 2, created, "")
	w.append(reported(asking, created), placed{fold.Analysis.Stream(asked), analysis.Reclaimed{AnalysisID: asked, Attempt: 2, Worker: "n2", At: at}})
	w.append(reported(asking, created), placed{fold.Analysis.Stream(asked), analysis.Progressed{
		AnalysisID: asked, Stage: analysis.Analyzing, Percent: 50, At: at,
	}})
	w.append(reported(asking, created),
		placed{fold.Analysis.Stream(asked), analysis.Canceled{AnalysisID: asked, At: at}},
		placed{fold.Credit.Stream(acct), credit.Settled{
			AccountID: acct, HoldID: hold, TransactionID: debit, Kind: credit.AnalysisDebit, SourceType: credit.SourceAnalysis,
			SourceID: asked, Seconds: 30, HeldSeconds: 40, BalanceAfter: 70, At: at,
		}})
}

// job inserts a row as River stores it.
func (w world) job(state string, attempt int, cause eventstore.Recorded, failure string) {
	w.Helper()
	_, err := w.pool.Exec(w.Context(), `
		insert into river_job (state, attempt, max_attempts, attempted_at, created_at, finalized_at, args, kind, queue, errors)
		values ($1::text::river_job_state, 1, 1, clock_timestamp(), clock_timestamp(), clock_timestamp(),
		        jsonb_build_object('analysis_id', $2::text, 'attempt', $3::int, 'cause', jsonb_build_object(
		            'request_id', $4::text, 'correlation_id', $4::text, 'causation_id', 'position:' || $5::bigint)),
		        'analyze', 'analyses',
		        case when $6::text = '' then null else array[jsonb_build_object('at', clock_timestamp(), 'attempt', 1, 'error', $6::text, 'trace', '')] end)`,
		state, asked, attempt, asking, cause.Position, failure)
	require.NoError(w, err)
}

// outline formats a chain as indented names.
func outline(steps []*history.Step, indent string) string {
	var b strings.Builder
	for _, s := range steps {
		switch {
		case s.Job != nil:
			fmt.Fprintf(&b, "%sjob %s %d %s", indent, s.Job.Kind, s.Job.Attempt, s.Job.State)
			for _, e := range s.Job.Errors {
				fmt.Fprintf(&b, " (%s)", e.Error)
			}
		default:
			b.WriteString(indent + s.Event.Type)
			if e := s.Event.Entry; e != nil {
				for _, p := range e.Postings {
					_, name, _ := strings.Cut(string(p.Account), ":")
					fmt.Fprintf(&b, " %s %+d", name, p.Seconds)
				}
				if e.BalanceAfter != nil {
					fmt.Fprintf(&b, " = %d", *e.BalanceAfter)
				}
			}
		}
		b.WriteString("\n" + outline(s.Steps, indent+"  "))
	}
	return b.String()
}

const theOpening = `account.opened
credit.granted grants -100 available +100 = 100
account.key_issued
`

const theAnalysis = `video.analysis_opened
credit.held available -40 held +40
analysis.created
  job analyze 1 discarded (the worker was lost)
    analysis.started
  job analyze 2 completed
    analysis.reclaimed
    analysis.progressed
    analysis.canceled
    credit.settled held -40 analysis_usage +30 available +10 = 70
`

func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record()
	tests := map[string]struct {
		id     string
		limit  int
		chains []string
		more   int
	}{
		"an analysis":    {asked, 9, []string{theAnalysis}, 0},
		"a transaction":  {debit, 9, []string{theAnalysis}, 0},
		"a hold":         {hold, 9, []string{theAnalysis}, 0},
		"a request":      {asking, 9, []string{theAnalysis}, 0},
		"a key":          {key, 9, []string{theOpening}, 0},
		"a position":     {"1", 9, []string{theOpening}, 0},
		"a video":        {clip, 9, []string{"video.registered\n", theAnalysis}, 0},
		"an account":     {acct, 9, []string{theOpening, theAnalysis}, 0},
		"a stream":       {"credit/" + acct, 1, []string{theAnalysis}, 1},
		"a limit of one": {clip, 1, []string{theAnalysis}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := w.reader.Why(t.Context(), tt.id, tt.limit)
			require.NoError(t, err)
			var chains []string
			for _, c := range x.Chains {
				chains = append(chains, outline(c.Steps, ""))
				require.False(t, c.EndedAt.Before(c.BeganAt))
			}
			require.Empty(t, cmp.Diff(tt.chains, chains))
			require.Equal(t, tt.more, x.Earlier)
		})
	}
	x, err := w.reader.Why(t.Context(), asked, 1)
	require.NoError(t, err)
	require.Equal(t, []string{asking, asking, key}, []string{x.Chains[0].CorrelationID, x.Chains[0].RequestID, x.Chains[0].Actor})

	for _, unknown := range []string{
		"an_01M7XSQ3Q33626X8KQ1GH1DBAA", "req_01M7XSQ3Q33626X8KQ1GH1DBAA", "txn_01M7XSQ3Q33626X8KQ1GH1DBAA",
		"key_01M7XSQ3Q33626X8KQ1GH1DBAA", "999", "nonsense", "account/acct_2",
	} {
		_, err := w.reader.Why(t.Context(), unknown, 1)
		require.ErrorAs(t, err, new(*history.UnknownError), unknown)
	}
	_, err = w.reader.Resolve(t.Context(), "nonsense/x")
	require.ErrorContains(t, err, "category")
}

func TestTheTimeOfARequestComesFromItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.append(by("req_of-a-caller", key), placed{fold.Account.Stream(acct), account.Opened{AccountID: acct, Tier: account.Paid}})
	x, err := w.reader.Why(t.Context(), acct, 1)
	require.NoError(t, err)
	require.Equal(t, x.Chains[0].Steps[0].At, x.Chains[0].BeganAt, "the id contains no time")
	require.Zero(t, x.Chains[0].DurationSeconds)
}

func TestStateAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record()
	stream := fold.Credit.Stream(acct)
	events, err := w.store.LoadAll(t.Context(), stream)
	require.NoError(t, err)
	require.Len(t, events, 3)
	tests := map[string]struct {
		moment       history.Moment
		version      int64
		posted, held int64
	}{
		"now":              {history.Moment{}, 3, 70, 0},
		"the last version": {history.Moment{Version: 3}, 3, 70, 0},
		"a version":        {history.Moment{Version: 2}, 2, 100, 40},
		"a time":           {history.Moment{At: events[1].RecordedAt}, 2, 100, 40},
		"just before it":   {history.Moment{At: events[1].RecordedAt.Add(-time.Microsecond)}, 1, 100, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := w.reader.StateAt(t.Context(), stream, tt.moment)
			require.NoError(t, err)
			last := events[tt.version-1]
			require.Equal(t, []any{tt.version, int64(3), last.Position, last.Chain.String(), last.RecordedAt},
				[]any{s.Version, s.Latest, s.Position, s.Chain, *s.RecordedAt})
			state := s.State.(credit.State)
			require.Equal(t, []int64{tt.posted, tt.held}, []int64{state.PostedSeconds, state.HeldSeconds})
		})
	}
	before, err := w.reader.StateAt(t.Context(), stream, history.Moment{At: events[0].RecordedAt.Add(-time.Second)})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(history.State{Stream: stream.String(), Latest: 3}, before))
	_, err = w.reader.StateAt(t.Context(), stream, history.Moment{Version: 4})
	require.ErrorContains(t, err, "3 versions")
	_, err = w.reader.StateAt(t.Context(), eventstore.StreamID{Category: "x", ID: "y"}, history.Moment{})
	require.ErrorContains(t, err, "unknown stream category")
}

// TestStateAtEqualsTheFold reads a stream of more than one page.
func TestStateAtEqualsTheFold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 5_003
	stream := fold.Credit.Stream(acct)
	write := eventstore.Write{Stream: stream}
	var want credit.State
	for i := range n {
		e := credit.Granted{AccountID: acct, TransactionID: fmt.Sprint("txn_", i), Kind: credit.Purchase, Seconds: 1, BalanceAfter: int64(i) + 1}
		want = credit.Evolve(want, e)
		write.Events = append(write.Events, eventstore.NewEvent{Event: e})
	}
	write.State = want
	_, err := w.store.Append(t.Context(), eventstore.Batch{Writes: []eventstore.Write{write}})
	require.NoError(t, err)
	s, err := w.reader.StateAt(t.Context(), stream, history.Moment{})
	require.NoError(t, err)
	require.Equal(t, int64(n), s.Version)
	require.Empty(t, cmp.Diff(want, s.State))
	s, err = w.reader.StateAt(t.Context(), stream, history.Moment{Version: 5_001})
	require.NoError(t, err)
	require.Equal(t, int64(5_001), s.State.(credit.State).PostedSeconds)
}

func TestNarrowIsTheKeyOfAnAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record()
	subject, err := w.reader.Resolve(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, []eventstore.StreamID{fold.Account.Stream(acct)}, subject.Streams)
	s, err := w.reader.StateAt(t.Context(), subject.Streams[0], history.Moment{})
	require.NoError(t, err)
	require.Equal(t, key, subject.Narrow(s.State).(account.Key).ID)
	s, err = w.reader.StateAt(t.Context(), subject.Streams[0], history.Moment{Version: 1})
	require.NoError(t, err)
	require.Nil(t, subject.Narrow(s.State), "it was issued later")
	require.Equal(t, s.State, history.Subject{}.Narrow(s.State))
}

func TestDiff(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	tests := map[string]struct {
		before, after any
		want          string
	}{
		"nothing":  {m{"a": 1}, m{"a": 1}, ""},
		"a value":  {m{"a": 1, "b": "x"}, m{"a": 2, "b": "x"}, "a 1>2;"},
		"deep":     {m{"a": m{"b": []int{1, 2}}}, m{"a": m{"b": []int{1, 3, 4}}}, "a.b.1 2>3;a.b.2 >4;"},
		"gone":     {m{"a": m{"b": true}}, m{"a": m{}}, "a >{};a.b true>;"},
		"new":      {nil, m{"z": nil, "a": "é"}, `a >"é";z >null;`},
		"big":      {m{"a": int64(1<<53 + 1)}, m{"a": int64(1<<53 + 2)}, "a 9007199254740993>9007199254740994;"},
		"to a map": {m{"a": 1}, m{"a": m{"b": 1}}, "a 1>;a.b >1;"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, err := history.Diff(tt.before, tt.after)
			require.NoError(t, err)
			var got strings.Builder
			for _, c := range changes {
				fmt.Fprintf(&got, "%s %s>%s;", c.Path, c.Before, c.After)
			}
			require.Equal(t, tt.want, got.String())
		})
	}
	_, err := history.Diff(func() {}, nil)
	require.Error(t, err)
}
