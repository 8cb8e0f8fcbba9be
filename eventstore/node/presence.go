package node

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"vqa/eventstore"
)

// Presence holds the lease of this node and shows which nodes are alive.
type Presence struct {
	pool *pgxpool.Pool
	node string
	// host is the name of the machine, for people.
	host string
	// generation is that of the program (migrations.Generation).
	generation int64
	// address is where other nodes reach this one, or empty, and addressMAC its MAC with addressKey.
	address                string
	addressKey, addressMAC []byte
	// holder tells this process from another one with the same name.
	holder string
	log    *slog.Logger
	// conn is a connection of its own: a renewal must not wait for a free connection of the pool.
	conn *pgx.Conn

	mu      sync.Mutex
	lease   *lease
	changed chan struct{} // closed when there is a new lease
}

// Join takes the lease of a node's name, on a machine named host. It fails when a living node has the
// same name. Run renews the lease.
func Join(ctx context.Context, pool *pgxpool.Pool, node, host string, generation int64, log *slog.Logger) (*Presence, error) {
	p := &Presence{pool: pool, node: node, host: host, generation: generation, holder: rand.Text(), log: log, changed: make(chan struct{})}
	if err := p.take(ctx, joinTimeout); err != nil {
		p.disconnect()
		return nil, fmt.Errorf("register this node as alive: %w", err)
	}
	return p, nil
}

// Announce records the base URL at which other nodes reach this one, with a MAC. All nodes have the same key, which is not
// in the database: otherwise a writer of the table could redirect the requests that nodes pass on. Call it before Run.
func (p *Presence) Announce(ctx context.Context, baseURL string, key []byte) error {
	p.address, p.addressKey = baseURL, key
	p.addressMAC = p.macOf(p.node, baseURL)
	_, err := p.pool.Exec(ctx, "update nodes set address = $3, address_mac = $4 where name = $1 and holder = $2", p.node, p.holder, p.address, p.addressMAC)
	return err
}

// Address returns the base URL that the node of an incarnation has announced, or "". Error: another address than the
// node announced is recorded.
func (p *Presence) Address(ctx context.Context, incarnation string) (address string, err error) {
	var mac []byte
	err = p.pool.QueryRow(ctx, "select address, address_mac from nodes where incarnation = $1", incarnation).Scan(&address, &mac)
	switch name, _, _ := strings.Cut(incarnation, "@"); {
	case errors.Is(err, pgx.ErrNoRows):
		return "", nil
	case err == nil && address != "" && !hmac.Equal(mac, p.macOf(name, address)):
		return "", fmt.Errorf("the address %q of node %s in the database has no valid MAC: somebody changed it", address, name)
	}
	return address, err
}

// macOf returns the MAC of the address of a node. The name of a node has no line break.
func (p *Presence) macOf(node, address string) []byte {
	m := hmac.New(sha256.New, p.addressKey)
	m.Write([]byte(node + "\n" + address))
	return m.Sum(nil)
}

// Run renews the lease until ctx ends, and then ends it at once, so that other nodes need not wait.
// When the lease is over because the database could not be reached, Run takes a new one with the next
// epoch.
func (p *Presence) Run(ctx context.Context) {
	for pause := renewEvery; ; {
		select {
		case <-ctx.Done():
			p.leave(context.WithoutCancel(ctx))
			return
		case <-time.After(pause):
		}
		pause = renewEvery
		if err := p.renew(ctx); err != nil && ctx.Err() == nil {
			pause = retryEvery
			p.log.Warn("could not renew the lease of this node; trying again", "node", p.node, "error", err)
		}
	}
}

// Lease returns the current lease. While there is none, it waits, until ctx ends.
func (p *Presence) Lease(ctx context.Context) (eventstore.Lease, error) {
	for {
		p.mu.Lock()
		current, changed := p.lease, p.changed
		p.mu.Unlock()
		if current.Check() == nil {
			return current, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// current returns the newest lease, which may be over.
func (p *Presence) current() *lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lease
}

const (
	// takeLeaseSQL takes the lease of a name that no other process holds. A process may take its own
	// lease again, because the answer to an earlier request may have been lost.
	takeLeaseSQL = `
with forgotten as (delete from nodes where lease_until < clock_timestamp() - $4::interval and name <> $1)
insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until, generation, host, address, address_mac)
values ($1, $2, 1, clock_timestamp(), clock_timestamp(), clock_timestamp() + $3::interval, $5, $6, $7, coalesce($8, ''::bytea))
on conflict (name) do update set holder = excluded.holder, epoch = nodes.epoch + 1, started_at = excluded.started_at,
       renewed_at = excluded.renewed_at, lease_until = excluded.lease_until,
       generation = excluded.generation, host = excluded.host,
       address = excluded.address, address_mac = excluded.address_mac
 where nodes.holder = excluded.holder or not exists (select from living_nodes l where l.name = nodes.name)
returning epoch`
	renewLeaseSQL = `
with now as (select clock_timestamp() as at)
update nodes set renewed_at = now.at, lease_until = now.at + $3::interval from now
 where name = $1 and epoch = $2 and exists (select from living_nodes l where l.incarnation = nodes.incarnation)`
	endLeaseSQL = `
with now as (select clock_timestamp() as at)
update nodes set renewed_at = least(renewed_at, now.at), lease_until = now.at from now where name = $1 and holder = $2`
)

// take takes a lease with the next epoch, in at most limit.
func (p *Presence) take(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := p.connect(ctx); err != nil {
		return err
	}
	sent := elapsed()
	var epoch int64
	err := p.conn.QueryRow(ctx, takeLeaseSQL, p.node, p.holder, leaseLength, forgetAfter, p.generation, p.host, p.address, p.addressMAC).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("another living node has the name %s", p.node)
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lease = newLease(p.node, epoch, sent)
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}

// renew extends the lease, or takes a new one when it is over. After an error the next call connects
// again.
func (p *Presence) renew(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			p.disconnect()
		}
	}()
	if l := p.current(); l.Check() == nil {
		held, err := p.extend(ctx, l)
		if held || err != nil {
			return err
		}
		l.end()
	}
	if err := p.take(ctx, renewTimeout); err != nil {
		return err
	}
	p.log.Warn("the lease of this node was over; its work was stopped, and it continues with a new lease", "node", p.node, "epoch", p.current().epoch)
	return nil
}

// extend returns false when the lease is over.
func (p *Presence) extend(ctx context.Context, l *lease) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	if err := p.connect(ctx); err != nil {
		return false, err
	}
	sent := elapsed()
	tag, err := p.conn.Exec(ctx, renewLeaseSQL, p.node, l.epoch, leaseLength)
	if err != nil {
		return false, err
	}
	return tag.RowsAffected() == 1 && l.renewed(sent), nil
}

// leave ends the lease in this process first, then in the database.
func (p *Presence) leave(ctx context.Context) {
	defer p.disconnect()
	p.current().end()
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	err := p.connect(ctx)
	if err == nil {
		_, err = p.conn.Exec(ctx, endLeaseSQL, p.node, p.holder)
	}
	if err != nil {
		p.log.Warn("could not end the lease of this node; it ends by itself", "node", p.node, "error", err)
	}
}

// connect opens the connection unless it is open.
func (p *Presence) connect(ctx context.Context) error {
	if p.conn != nil && !p.conn.IsClosed() {
		return nil
	}
	config := p.pool.Config()
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	p.conn = conn
	if config.AfterConnect != nil {
		return config.AfterConnect(ctx, conn)
	}
	return nil
}

// disconnect closes the connection, without waiting for a server that does not respond.
func (p *Presence) disconnect() {
	if p.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.conn.Close(ctx) // the lease does not depend on the connection
	p.conn = nil
}

// Alive returns a function that reports whether a node, or an incarnation of one, was alive at the
// time of this call.
func (p *Presence) Alive(ctx context.Context) (func(node string) bool, error) {
	rows, err := p.pool.Query(ctx, "select unnest(array[name, incarnation]) from living_nodes")
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	living := make(map[string]bool, len(names))
	for _, n := range names {
		living[n] = true
	}
	return func(node string) bool { return living[node] }, nil
}

// Count returns the number of living nodes.
func (p *Presence) Count(ctx context.Context) (int, error) { return Count(ctx, p.pool) }

// Count returns the number of living nodes on the pool's database. The caller need not be a node.
func Count(ctx context.Context, pool *pgxpool.Pool) (n int, err error) {
	if err = pool.QueryRow(ctx, "select count(*) from living_nodes").Scan(&n); err != nil {
		return 0, fmt.Errorf("count the living nodes: %w", err)
	}
	return n, nil
}
