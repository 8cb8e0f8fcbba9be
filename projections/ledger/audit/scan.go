package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Events are read as text, because a hash covers the stored bytes.
const (
	selectEvents = "select position, stream, version, type, account_id, data, meta, chain, mac from events where "
	betweenSQL   = selectEvents + "stream > $1 and stream < $2 order by stream, version"
	upToSQL      = selectEvents + "stream > $1 and stream <= $2 order by stream, version"
	streamsSQL   = selectEvents + "stream = any($1) order by stream, version"
	partSQL      = selectEvents + "stream = $1 and version >= $2 and version < $3 order by version limit $4"
)

// The columns of an event, in their order.
const (
	colPosition = iota
	colStream
	colVersion
	colType
	colAccount
	colData
	colMeta
	colChain
	colMAC
)

// scanner reads events and checks that each follows from the previous one.
type scanner struct {
	tx    pgx.Tx
	codec *codec.Codec
	// types has one string for each stored type.
	types map[string]string
	// macs checks the MAC of each event, unless it is nil.
	macs MACs

	// The following fields belong to the previous event.
	name     string
	stream   eventstore.StreamID
	account  string
	version  int64
	position int64
	chain    eventstore.Chain
}

// scan calls take with each event of a query and the name of its stream. The slices and
// strings of an event stay valid. decode says whether the payload is decoded.
func (s *scanner) scan(ctx context.Context, decode bool, take func(stream string, e stored), sql string, args ...any) error {
	s.name, s.version = "", 0
	rows, err := s.tx.Query(ctx, sql, append([]any{pgx.QueryResultFormats{pgx.BinaryFormatCode}}, args...)...)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		if string(raw[colStream]) != s.name {
			s.name, s.version, s.chain, s.position = string(raw[colStream]), 0, eventstore.Chain{}, 0
			if s.stream, err = codec.ParseStreamID(s.name); err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
		}
		e, err := s.follow(raw)
		if err != nil {
			return err
		}
		if decode {
			if e.event, err = s.codec.Unmarshal(s.typeOf(raw[colType]), raw[colData]); err != nil {
				e.unreadable = err.Error()
			}
		}
		take(s.name, e)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return nil
}

// follow checks the hash of an event, unless the previous event is missing, and its MAC.
func (s *scanner) follow(raw [][]byte) (stored, error) {
	if string(raw[colAccount]) != s.account {
		s.account = string(raw[colAccount])
	}
	e := stored{version: number(raw[colVersion]), position: number(raw[colPosition]), account: s.account}
	if len(raw[colChain]) != len(e.chain) {
		return e, fmt.Errorf("the event at position %d has a hash of %d bytes", e.position, len(raw[colChain]))
	}
	copy(e.chain[:], raw[colChain])
	row := codec.Encoded{
		Stream: s.stream, Version: e.version, Type: s.typeOf(raw[colType]), Data: raw[colData],
		AccountID: s.account, Meta: raw[colMeta], Chain: e.chain,
	}
	if e.version == s.version+1 && codec.Link(s.chain, row) != e.chain {
		row.Data, row.Meta = bytes.Clone(row.Data), bytes.Clone(row.Meta)
		e.broken = &brokenLink{position: e.position, row: row, base: s.chain, beforeAt: s.position}
	}
	if s.macs != nil {
		var forged *eventstore.ForgedError
		if err := s.macs.CheckEvent(row, e.position, raw[colMAC]); errors.As(err, &forged) {
			e.forged = forged.Problem
		} else if err != nil {
			return e, err
		}
	}
	s.version, s.position, s.chain = e.version, e.position, e.chain
	return e, nil
}

func (s *scanner) typeOf(raw []byte) string {
	name, ok := s.types[string(raw)]
	if !ok {
		name = string(raw)
		s.types[name] = name
	}
	return name
}

func number(raw []byte) int64 {
	return int64(binary.BigEndian.Uint64(raw)) //nolint:gosec // Postgres uses a signed type too
}
