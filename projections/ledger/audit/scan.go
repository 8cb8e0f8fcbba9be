package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// Events are read as text, because a hash covers the stored bytes.
const eventsSQL = `select position, stream, version, type, account_id, data, meta, chain, mac from events
 where (stream, version) > ($1, $2) and stream <= $3 order by stream, version limit $4`

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

// stored is an event as a reader reads it from the log. Its data and metadata are valid until the next one is read.
type stored struct {
	codec.Encoded
	position int64
	event    eventstore.Event
	// unreadable is the error when the event could not be decoded.
	unreadable string
	// forged is what is wrong with the MAC of the event, or "".
	forged string
}

// recorded converts an event to the form that folds and read models need.
func (e stored) recorded() eventstore.Recorded {
	return eventstore.Recorded{Position: e.position, Stream: e.Stream, Version: e.Version, Event: e.event, Chain: e.Chain}
}

// scanner reads and decodes events.
type scanner struct {
	tx    pgx.Tx
	codec *codec.Codec
	// macs checks the MAC of each event, unless it is nil.
	macs MACs
	// types has one string for each stored type.
	types map[string]string
	// name, id and account belong to the previous event.
	name    string
	id      eventstore.StreamID
	account string
}

// scan calls take with each event after a version of a stream, up to the last one of the stream to, and at most limit
// events. It returns their number.
func (s *scanner) scan(ctx context.Context, stream string, version int64, to string, limit int, take func(e stored) error) (n int, err error) {
	rows, err := s.tx.Query(ctx, eventsSQL, pgx.QueryResultFormats{pgx.BinaryFormatCode}, stream, version, to, limit)
	if err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		e, err := s.read(rows.RawValues())
		if err == nil {
			err = take(e)
		}
		if err != nil {
			return n, err
		}
	}
	if err := rows.Err(); err != nil {
		return n, fmt.Errorf("read the log: %w", err)
	}
	return n, nil
}

// read decodes an event and checks its MAC.
func (s *scanner) read(raw [][]byte) (e stored, err error) {
	if string(raw[colStream]) != s.name {
		s.name = string(raw[colStream])
		if s.id, err = codec.ParseStreamID(s.name); err != nil {
			return e, fmt.Errorf("read the log: %w", err)
		}
	}
	if string(raw[colAccount]) != s.account {
		s.account = string(raw[colAccount])
	}
	e.position = number(raw[colPosition])
	e.Encoded = codec.Encoded{
		Stream: s.id, Version: number(raw[colVersion]), Type: s.typeOf(raw[colType]), Data: raw[colData],
		AccountID: s.account, Meta: raw[colMeta],
	}
	if len(raw[colChain]) != len(e.Chain) {
		return e, fmt.Errorf("the event at position %d has a hash of %d bytes", e.position, len(raw[colChain]))
	}
	copy(e.Chain[:], raw[colChain])
	if e.event, err = s.codec.Unmarshal(e.Type, e.Data); err != nil {
		e.unreadable = err.Error()
	}
	if s.macs != nil {
		var forged *eventstore.ForgedError
		if err := s.macs.CheckEvent(e.Encoded, e.position, raw[colMAC]); errors.As(err, &forged) {
			e.forged = forged.Problem
		} else if err != nil {
			return e, err
		}
	}
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
