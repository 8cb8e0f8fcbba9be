package postgres_test

import (
	"context"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
)

// newEmpty returns the URL of a database without a schema.
func newEmpty(t *testing.T) string {
	t.Helper()
	return storetest.Database(t, func(context.Context, string) error { return nil }, "empty")
}

// pooler stands between clients and a server as PgBouncer does. It speaks the simple protocol only.
type pooler struct {
	// transactions gives each transaction of a client to the session that was used last, instead of one
	// session to each client.
	transactions bool
	// parameters are those of its sessions. It ignores those of clients.
	parameters map[string]string
	// ignores lists the parameters of clients that it ignores, besides those that it knows. It refuses
	// a client that sends another one. nil means that it ignores all.
	ignores []string

	mu   sync.Mutex
	free []*pgconn.HijackedConn
	open sync.WaitGroup
}

// start returns the URL of the database through the pooler.
func (p *pooler) start(t *testing.T, database string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	p.open.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.open.Go(func() {
				defer client.Close()
				if err := p.serve(ctx, client, database); err != nil {
					t.Error(err)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.open.Wait()
		cancel()
		for _, server := range p.free {
			_ = server.Conn.Close()
		}
	})
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.Host = listener.Addr().String()
	return u.String()
}

// serve answers a client until it leaves.
func (p *pooler) serve(ctx context.Context, conn net.Conn, database string) error {
	client := pgproto3.NewBackend(conn, conn)
	if welcome, err := p.greet(conn, client); err != nil || !welcome {
		return err
	}
	var server *pgconn.HijackedConn
	defer func() {
		if server != nil {
			_ = server.Conn.Close() // no other client may use it
		}
	}()
	for {
		request, err := client.Receive()
		if err != nil {
			return nil // the client has left
		}
		if _, leaves := request.(*pgproto3.Terminate); leaves {
			return nil
		}
		if server == nil {
			if server, err = p.take(ctx, database); err != nil {
				return err
			}
		}
		server.Frontend.Send(request)
		if err := server.Frontend.Flush(); err != nil {
			return err
		}
		idle := false
		for done := false; !done; {
			response, err := server.Frontend.Receive()
			if err != nil {
				return err
			}
			if ready, ok := response.(*pgproto3.ReadyForQuery); ok {
				done, idle = true, ready.TxStatus == 'I'
			}
			client.Send(response)
		}
		if idle && p.transactions {
			p.give(server)
			server = nil
		}
		if err := client.Flush(); err != nil {
			return err
		}
	}
}

// known are the parameters that PgBouncer knows without configuration.
var known = []string{"user", "database", "client_encoding", "datestyle", "timezone", "standard_conforming_strings", "application_name"}

// greet answers the start of a connection. It is false when the client was refused.
func (p *pooler) greet(conn net.Conn, client *pgproto3.Backend) (bool, error) {
	for {
		message, err := client.ReceiveStartupMessage()
		if err != nil {
			return false, err
		}
		start, ok := message.(*pgproto3.StartupMessage)
		if !ok { // a request for encryption
			if _, err := conn.Write([]byte("N")); err != nil {
				return false, err
			}
			continue
		}
		for name := range start.Parameters {
			if p.ignores != nil && !slices.Contains(known, name) && !slices.Contains(p.ignores, name) {
				client.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: " + name})
				return false, client.Flush()
			}
		}
		client.Send(&pgproto3.AuthenticationOk{})
		for name, value := range map[string]string{
			"client_encoding": "UTF8", "standard_conforming_strings": "on", "server_version": "15.0",
		} {
			client.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
		}
		client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		return true, client.Flush()
	}
}

// take returns the session that was given back last, or a new one.
func (p *pooler) take(ctx context.Context, database string) (*pgconn.HijackedConn, error) {
	p.mu.Lock()
	if last := len(p.free) - 1; last >= 0 {
		server := p.free[last]
		p.free = p.free[:last]
		p.mu.Unlock()
		return server, nil
	}
	p.mu.Unlock()
	config, err := pgconn.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	for name, value := range p.parameters {
		config.RuntimeParams[name] = value
	}
	server, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return server.Hijack()
}

func (p *pooler) give(server *pgconn.HijackedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, server)
}
