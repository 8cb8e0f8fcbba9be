package projections

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"vqa/eventstore/codec"
)

// copying collects rows of a shadow table and writes them with a binary COPY. It reuses its
// memory.
type copying struct {
	conn  *pgx.Conn
	table string
	sql   string
	types []uint32
	rows  bytes.Buffer
	// field is never nil. Appending an empty text to nil would give nil, which means null.
	field []byte
}

// copyHeader starts a binary COPY: signature, flags, no extension.
var copyHeader = append([]byte("PGCOPY\n\xff\r\n\x00"), make([]byte, 8)...)

func newCopying(ctx context.Context, conn *pgx.Conn, p Projection) (*copying, error) {
	c := &copying{conn: conn, table: p.Table(), field: []byte{}}
	var names []string
	for _, column := range p.TableColumns() {
		var oid uint32
		err := conn.QueryRow(ctx, "select atttypid from pg_attribute where attrelid = $1::text::regclass and attname = $2",
			shadow+"."+c.table, column.Name).Scan(&oid)
		if err != nil {
			return nil, fmt.Errorf("column %s of %s: %w", column.Name, c.table, err)
		}
		names = append(names, column.Name)
		c.types = append(c.types, oid)
	}
	c.sql = fmt.Sprintf("copy %s.%s (%s) from stdin (format binary)", shadow, c.table, strings.Join(names, ", "))
	return c, nil
}

// add appends a row.
func (c *copying) add(row Row) error {
	if c.rows.Len() == 0 {
		c.rows.Write(copyHeader)
	}
	doc, err := codec.MarshalState(row.Doc)
	if err != nil {
		return fmt.Errorf("%s: row %s: %w", c.table, row.ID, err)
	}
	c.number(2, uint32(len(c.types))) //nolint:gosec // a table has fewer than 1,600 columns
	c.bytes([]byte(row.ID))
	for i, v := range row.Values {
		encoded, err := c.conn.TypeMap().Encode(c.types[i+1], pgtype.BinaryFormatCode, v, c.field[:0])
		if err != nil {
			return fmt.Errorf("%s: row %s: %w", c.table, row.ID, err)
		}
		c.bytes(encoded)
		if encoded != nil {
			c.field = encoded
		}
	}
	c.bytes(doc)
	return nil
}

// bytes appends a field. nil is the null of SQL.
func (c *copying) bytes(field []byte) {
	if field == nil {
		c.number(4, 1<<32-1)
		return
	}
	c.number(4, uint32(len(field))) //nolint:gosec // far below the 1 GiB of a Postgres value
	c.rows.Write(field)
}

// number appends the last bytes of a number.
func (c *copying) number(size int, n uint32) {
	b := binary.BigEndian.AppendUint32(c.rows.AvailableBuffer(), n)
	c.rows.Write(b[4-size:])
}

// flush writes the rows.
func (c *copying) flush(ctx context.Context) error {
	if c.rows.Len() == 0 {
		return nil
	}
	c.number(2, 1<<16-1) // the end
	_, err := c.conn.PgConn().CopyFrom(ctx, &c.rows, c.sql)
	c.rows.Reset()
	if err != nil {
		return fmt.Errorf("%s: %w", c.table, err)
	}
	return nil
}
