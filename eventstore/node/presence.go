package node

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// presenceClass is the first key of the advisory locks of running nodes. The second key is a hash of
// the node's name.
const presenceClass = 0x76716101

// presenceRetry is the pause between attempts to reconnect.
const presenceRetry = time.Second

// Presence shows which nodes are alive. Each node holds an advisory lock on a connection of its own.
// Postgres releases the lock when the process or its machine dies.
type Presence struct {
	pool *pgxpool.Pool
	node string
	log  *slog.Logger
	held *pgx.Conn
}

// Join takes the lock of a node's name. It fails when a living node has the same name.
func Join(ctx context.Context, pool *pgxpool.Pool, node string, log *slog.Logger) (*Presence, error) {
	p := &Presence{pool: pool, node: node, log: log}
	if err := p.join(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Presence) join(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("register this node as alive: %w", err)
	}
	var mine bool
	err = conn.QueryRow(ctx, "select pg_try_advisory_lock($1, $2)", presenceClass, nodeKey(p.node)).Scan(&mine)
	if err == nil && !mine {
		err = fmt.Errorf("another living node has the name %s", p.node)
	}
	if err != nil {
		return fmt.Errorf("register this node as alive: %w", closing(conn, err))
	}
	p.held = conn
	return nil
}

// Run keeps the node present until ctx ends. When the connection is lost, it joins again. In the
// meantime another node may have claimed the work of this one. The attempt numbers of jobs make
// that harmless.
func (p *Presence) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := p.held.WaitForNotification(ctx); ctx.Err() != nil {
			break
		} else if err == nil {
			continue
		}
		p.log.Warn("lost the connection that shows this node as alive; connecting again", "node", p.node)
		_ = closing(p.held, nil)
		for p.join(ctx) != nil && ctx.Err() == nil {
			select {
			case <-time.After(presenceRetry):
			case <-ctx.Done():
			}
		}
	}
	_ = closing(p.held, nil)
}

// Alive returns a function that reports whether a node was alive at the time of this call.
func (p *Presence) Alive(ctx context.Context) (func(node string) bool, error) {
	living, err := living(ctx, p.pool)
	if err != nil {
		return nil, err
	}
	return func(node string) bool { return living[nodeKey(node)] }, nil
}

// Count returns the number of living nodes.
func (p *Presence) Count(ctx context.Context) (int, error) { return Count(ctx, p.pool) }

// Count returns the number of living nodes on the pool's database. The caller need not be a node.
func Count(ctx context.Context, pool *pgxpool.Pool) (int, error) {
	living, err := living(ctx, pool)
	if err != nil {
		return 0, fmt.Errorf("count the living nodes: %w", err)
	}
	return len(living), nil
}

// living returns the second keys of the held locks.
func living(ctx context.Context, pool *pgxpool.Pool) (map[int32]bool, error) {
	rows, err := pool.Query(ctx, `
		select objid::bigint from pg_locks
		where locktype = 'advisory' and granted and objsubid = 2 and classid = $1
		and database = (select oid from pg_database where datname = current_database())`, presenceClass)
	if err != nil {
		return nil, err
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, err
	}
	living := make(map[int32]bool, len(keys))
	for _, k := range keys {
		living[int32(uint32(k))] = true //nolint:gosec // pg_locks shows a key unsigned
	}
	return living, nil
}

// nodeKey is the second key of a node's lock.
func nodeKey(node string) int32 {
	h := fnv.New32a()
	h.Write([]byte(node))
	return int32(h.Sum32()) //nolint:gosec // any 32 bits are a valid key
}

// closing closes a connection, which takes at most a second, and returns err.
func closing(conn *pgx.Conn, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // the server releases the lock in any case
	return err
}
