package edge

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"vqa/domain/account"
	"vqa/domain/grant"
	"vqa/eventstore"
	"vqa/eventstore/fold"
)

// States returns aggregates as their events fold, with the versions of their streams. Those events are checked: the service wrote them.
// *command.Service implements it.
type States interface {
	AccountState(ctx context.Context, id string) (account.State, int64, error)
	ClientTokenState(ctx context.Context, id string) (account.ClientToken, int64, error)
	SessionState(ctx context.Context, id string) (account.Session, int64, error)
	GrantState(ctx context.Context, id string) (grant.State, int64, error)
}

const (
	// provenFor is how long a row that agreed with its events is believed without another look. A changed
	// row is compared at once, so this bounds only how long an old row works that somebody puts back.
	provenFor = time.Minute
	// mostProven bounds the remembered rows of each kind. A row takes about 500 bytes.
	mostProven = 10_000
	// compareTries bounds how often a row and its events are read again because the stream has changed.
	compareTries = 5
)

// proven compares the rows of credentials with the events of their streams, because the owner of the database can
// write rows. Where they differ, the events count.
type proven struct {
	rows   Accounts
	states States
	// forged is called with each row that differs.
	forged func(*eventstore.ForgedError)
	now    func() time.Time

	keys     provenRows[account.Key]
	tokens   provenRows[account.ClientToken]
	accounts provenRows[account.State]
	sessions provenRows[account.Session]
	grants   provenRows[grant.State]
}

// Prove returns accounts whose rows are compared with their events. forged is called with each row that differs; it
// may be nil, and must not block.
func Prove(rows Accounts, states States, forged func(*eventstore.ForgedError), now func() time.Time) Accounts {
	if forged == nil {
		forged = func(*eventstore.ForgedError) {}
	}
	return &proven{rows: rows, states: states, forged: forged, now: now}
}

// provenRows remembers the rows of a kind that agreed with their events.
type provenRows[S any] struct {
	mu    sync.Mutex
	known map[string]worth[S]
}

// worth is what a row counts for.
type worth[S any] struct {
	// row is the essence of the row. agrees says that the events have the same; else state is what they say, unless
	// there are none.
	row            string
	agrees, exists bool
	state          S
	at             time.Time
}

// compared is a row with the way to its events.
type compared[S any] struct {
	id, table string
	row       S
	// again reads the row, and state its events. essence has the fields that decide.
	again   func() (S, bool, error)
	state   func() (stated[S], error)
	essence func(S) any
	stream  eventstore.StreamID
}

// stated is what the events of a stream say at a version.
type stated[S any] struct {
	state   S
	exists  bool
	version int64
}

// check returns the state of a row: the row itself where it agrees with its events, and else what the events say.
// found is false when the events know no such thing.
func check[S any](p *proven, k *provenRows[S], c compared[S]) (state S, found bool, err error) {
	row, now := essenceOf(c, c.row), p.now()
	k.mu.Lock()
	v, known := k.known[c.id]
	k.mu.Unlock()
	if known && v.row == row && now.Sub(v.at) < provenFor && !now.Before(v.at) {
		if v.agrees {
			return c.row, true, nil
		}
		return v.state, v.exists, nil
	}
	said, v, err := compare(p, c, row)
	if err != nil {
		return state, false, err
	}
	if v.row != "" {
		v.at = now
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.known == nil || len(k.known) >= mostProven {
			k.known = map[string]worth[S]{}
		}
		k.known[c.id] = v
	}
	return said.state, said.exists, nil
}

// compare reads the events of a row, and the row again where they differ. A row and its events change in one
// transaction. So a row that differs between two reads of the same version was written by somebody else. v is what
// the last read row is worth; it has no row when that is unknown.
func compare[S any](p *proven, c compared[S], row string) (said stated[S], v worth[S], err error) {
	if said, err = c.state(); err != nil {
		return said, v, err
	}
	for range compareTries {
		if said.exists && essenceOf(c, said.state) == row {
			return said, worth[S]{row: row, agrees: true}, nil
		}
		again, found, err := c.again()
		if err != nil || !found {
			return stated[S]{}, v, err // the row has gone
		}
		if row = essenceOf(c, again); said.exists && essenceOf(c, said.state) == row {
			return said, worth[S]{row: row, agrees: true}, nil
		}
		before := said.version
		if said, err = c.state(); err != nil {
			return said, v, err
		}
		if said.version == before {
			p.forged(&eventstore.ForgedError{Stream: c.stream, Row: "row " + c.id + " of the table " + c.table, Problem: "it differs from the events of the stream"})
			return said, worth[S]{row: row, state: said.state, exists: said.exists}, nil
		}
	}
	return said, v, nil
}

// essenceOf returns the fields of a state that decide, in one form.
func essenceOf[S any](c compared[S], s S) string {
	data, err := json.Marshal(c.essence(s))
	if err != nil {
		panic(err) // these states are stored as JSON
	}
	return string(data)
}

// essentialKey has no fields that only describe a key.
func essentialKey(k account.Key) any {
	k.Name, k.Hint, k.IssuedAt, k.LastUsedAt, k.RotatedFrom, k.ReplacedBy = "", "", time.Time{}, nil, "", ""
	return k
}

// Key implements Accounts.
func (p *proven) Key(ctx context.Context, secretHash string) (account.Key, bool, error) {
	row, found, err := p.rows.Key(ctx, secretHash)
	if err != nil || !found {
		return row, false, err
	}
	return p.key(ctx, row, func() (account.Key, bool, error) { return p.rows.Key(ctx, secretHash) })
}

func (p *proven) key(ctx context.Context, row account.Key, again func() (account.Key, bool, error)) (account.Key, bool, error) {
	return check(p, &p.keys, compared[account.Key]{
		id: row.ID, table: "api_keys", row: row, again: again, essence: essentialKey, stream: fold.Account.Stream(row.AccountID),
		state: func() (stated[account.Key], error) {
			a, version, err := p.states.AccountState(ctx, row.AccountID)
			k, found := a.Keys[row.ID]
			return stated[account.Key]{k, found, version}, err
		},
	})
}

// ClientToken implements Accounts.
func (p *proven) ClientToken(ctx context.Context, secretHash string) (token account.ClientToken, key account.Key, found bool, err error) {
	token, key, found, err = p.rows.ClientToken(ctx, secretHash)
	if err != nil || !found {
		return token, key, false, err
	}
	token, found, err = check(p, &p.tokens, compared[account.ClientToken]{
		id: token.ID, table: "client_tokens", row: token, stream: fold.ClientToken.Stream(token.ID),
		essence: func(t account.ClientToken) any { return t },
		again: func() (account.ClientToken, bool, error) {
			t, _, found, err := p.rows.ClientToken(ctx, secretHash)
			return t, found, err
		},
		state: func() (stated[account.ClientToken], error) {
			t, version, err := p.states.ClientTokenState(ctx, token.ID)
			return stated[account.ClientToken]{t, t.ID != "", version}, err
		},
	})
	if err != nil || !found {
		return token, key, false, err
	}
	key, found, err = p.key(ctx, key, func() (account.Key, bool, error) {
		_, k, found, err := p.rows.ClientToken(ctx, secretHash)
		return k, found, err
	})
	// The token names its key: the row of another key must not stand in for it.
	return token, key, found && key.ID == token.KeyID && key.AccountID == token.AccountID, err
}

// Account implements Accounts.
func (p *proven) Account(ctx context.Context, id string) (account.State, bool, error) {
	row, found, err := p.rows.Account(ctx, id)
	if err != nil || !found {
		return row, false, err
	}
	withoutKeys := func(a account.State) account.State { a.Keys = nil; return a }
	return check(p, &p.accounts, compared[account.State]{
		id: id, table: "accounts", row: withoutKeys(row), stream: fold.Account.Stream(id),
		essence: func(a account.State) any { return withoutKeys(a) },
		again:   func() (account.State, bool, error) { return p.rows.Account(ctx, id) },
		state: func() (stated[account.State], error) {
			a, version, err := p.states.AccountState(ctx, id)
			return stated[account.State]{withoutKeys(a), a.Exists(), version}, err
		},
	})
}

// essentialSession has no fields that only describe a session.
func essentialSession(s account.Session) any {
	s.Method, s.Browser, s.Network, s.OpenedAt = "", "", "", time.Time{}
	return s
}

// Session implements Accounts.
func (p *proven) Session(ctx context.Context, secretHash string) (account.Session, bool, error) {
	return p.session(ctx, func() (account.Session, bool, error) { return p.rows.Session(ctx, secretHash) })
}

// SessionByID implements Accounts.
func (p *proven) SessionByID(ctx context.Context, id string) (account.Session, bool, error) {
	return p.session(ctx, func() (account.Session, bool, error) { return p.rows.SessionByID(ctx, id) })
}

func (p *proven) session(ctx context.Context, read func() (account.Session, bool, error)) (account.Session, bool, error) {
	row, found, err := read()
	if err != nil || !found {
		return row, false, err
	}
	return check(p, &p.sessions, compared[account.Session]{
		id: row.ID, table: "sessions", row: row, again: read, essence: essentialSession, stream: fold.Session.Stream(row.ID),
		state: func() (stated[account.Session], error) {
			s, version, err := p.states.SessionState(ctx, row.ID)
			return stated[account.Session]{s, s.Exists(), version}, err
		},
	})
}

// Grant implements Accounts.
func (p *proven) Grant(ctx context.Context, id string) (grant.State, bool, error) {
	row, found, err := p.rows.Grant(ctx, id)
	if err != nil || !found {
		return row, false, err
	}
	return check(p, &p.grants, compared[grant.State]{
		id: id, table: "agent_grants", row: row, stream: fold.Grant.Stream(id),
		essence: func(g grant.State) any { return g },
		again:   func() (grant.State, bool, error) { return p.rows.Grant(ctx, id) },
		state: func() (stated[grant.State], error) {
			g, version, err := p.states.GrantState(ctx, id)
			return stated[grant.State]{g, g.Exists(), version}, err
		},
	})
}
