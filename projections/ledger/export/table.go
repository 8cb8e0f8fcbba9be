package export

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"vqa/domain/credit"
	"vqa/projections/ledger/book"
)

// Row is one posting in the tables of CSV and Parquet. An entry without postings has no
// row.
type Row struct {
	Position  int64     `parquet:"position"`
	AccountID string    `parquet:"account_id,dict"`
	Version   int64     `parquet:"version"`
	At        time.Time `parquet:"at,timestamp(microsecond)"`
	Kind      string    `parquet:"kind,dict"`
	// EntryID is the id of the transaction, or of the hold when there is no transaction.
	EntryID       string `parquet:"entry_id"`
	LedgerAccount string `parquet:"ledger_account,dict"`
	Seconds       int64  `parquet:"seconds"`
	// AvailableAfter and HeldAfter are the customer's balances after the whole entry.
	AvailableAfter int64  `parquet:"available_after_seconds"`
	HeldAfter      int64  `parquet:"held_after_seconds"`
	SourceType     string `parquet:"source_type,dict"`
	SourceID       string `parquet:"source_id"`
	DiscountPct    int32  `parquet:"discount_pct"`
	Refunds        string `parquet:"refunds"`
	Reason         string `parquet:"reason"`
	Actor          string `parquet:"actor,dict"`
	RequestID      string `parquet:"request_id"`
	Chain          string `parquet:"chain"`
}

// columns are the names of a Row's fields.
var columns = []string{
	"position", "account_id", "version", "at", "kind", "entry_id", "ledger_account", "seconds",
	"available_after_seconds", "held_after_seconds", "source_type", "source_id", "discount_pct", "refunds",
	"reason", "actor", "request_id", "chain",
}

// rowsOf returns the rows of an entry.
func rowsOf(e book.Entry) []Row {
	out := make([]Row, 0, len(e.Postings))
	for _, p := range e.Postings {
		out = append(out, Row{
			Position: e.Position, AccountID: e.AccountID, Version: e.Version, At: e.At.UTC(), Kind: string(e.Kind), EntryID: e.ID,
			LedgerAccount: string(p.Account), Seconds: p.Seconds,
			AvailableAfter: e.After.AvailableSeconds(), HeldAfter: e.After.HeldSeconds,
			SourceType: string(e.SourceType), SourceID: e.SourceID, DiscountPct: int32(e.DiscountPct), //nolint:gosec // 0 to 100
			Refunds: e.Refunds, Reason: e.Reason, Actor: e.Actor, RequestID: e.RequestID, Chain: e.Chain,
		})
	}
	return out
}

// entriesOnly is embedded in forms that write entries only.
type entriesOnly struct{}

func (entriesOnly) open(string, credit.State, time.Time) error  { return nil }
func (entriesOnly) close(string, credit.State, time.Time) error { return nil }

type csvForm struct {
	entriesOnly
	out *csv.Writer
}

func newCSV(out io.Writer) form {
	w := csv.NewWriter(out)
	_ = w.Write(columns) // the csv.Writer returns its error at the next call
	return csvForm{out: w}
}

func (c csvForm) entry(e book.Entry) error {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, r := range rowsOf(e) {
		err := c.out.Write([]string{
			number(r.Position), r.AccountID, number(r.Version), r.At.Format(time.RFC3339Nano), r.Kind, r.EntryID,
			r.LedgerAccount, number(r.Seconds), number(r.AvailableAfter), number(r.HeldAfter), r.SourceType, r.SourceID,
			number(int64(r.DiscountPct)), r.Refunds, r.Reason, r.Actor, r.RequestID, r.Chain,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c csvForm) end() error {
	c.out.Flush()
	return c.out.Error()
}

type jsonlForm struct {
	entriesOnly
	out *json.Encoder
}

func newJSONL(out io.Writer) form {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return jsonlForm{out: e}
}

func (j jsonlForm) entry(e book.Entry) error {
	return j.out.Encode(Line{Entry: e, AvailableAfter: e.After.AvailableSeconds(), HeldAfter: e.After.HeldSeconds})
}

func (jsonlForm) end() error { return nil }

// Line is an entry in JSON lines, with the customer's balances after it.
type Line struct {
	book.Entry
	AvailableAfter int64 `json:"available_after_seconds"`
	HeldAfter      int64 `json:"held_after_seconds"`
}

// rowGroup is the number of rows that Parquet keeps in memory before it writes them.
const rowGroup = 50_000

type parquetForm struct {
	entriesOnly
	out *parquet.GenericWriter[Row]
}

func newParquet(out io.Writer) form {
	return parquetForm{out: parquet.NewGenericWriter[Row](out, parquet.MaxRowsPerRowGroup(rowGroup),
		parquet.Compression(&parquet.Snappy), parquet.CreatedBy("vqa", "1", "ledger"))}
}

func (p parquetForm) entry(e book.Entry) error {
	_, err := p.out.Write(rowsOf(e))
	return err
}

func (p parquetForm) end() error { return p.out.Close() }
