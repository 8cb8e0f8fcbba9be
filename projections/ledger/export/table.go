package export

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"vqa/domain/credit"
	"vqa/projections/ledger/book"
)

// columns are those of CSV, which has one row for each posting. entry_id is the id of the transaction, or of
// the hold when there is no transaction. The balances are the customer's after the whole entry.
var columns = []string{
	"position", "account_id", "version", "at", "kind", "entry_id", "ledger_account", "seconds",
	"available_after_seconds", "held_after_seconds", "source_type", "source_id", "discount_pct", "refunds",
	"reason", "actor", "request_id", "chain",
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
	for _, p := range e.Postings {
		err := c.out.Write([]string{
			number(e.Position), e.AccountID, number(e.Version), e.At.UTC().Format(time.RFC3339Nano), string(e.Kind), e.ID,
			string(p.Account), number(p.Seconds), number(e.After.AvailableSeconds()), number(e.After.HeldSeconds), string(e.SourceType), e.SourceID,
			strconv.Itoa(e.DiscountPct), e.Refunds, e.Reason, e.Actor, e.RequestID, e.Chain,
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
