package export

import (
	_ "embed"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"vqa/projections/ledger/book"
)

//go:embed statement.html
var statementPage string

// page is the template of the printable statement. It needs no other file and no script.
var page = template.Must(template.New("statement").Funcs(template.FuncMap{
	"seconds": grouped,
	"signed": func(n int64) string {
		if n > 0 {
			return "+" + grouped(n)
		}
		return grouped(n)
	},
	"words": func(k book.Kind) string { return strings.ReplaceAll(string(k), "_", " ") },
	"when":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
}).Parse(statementPage))

// StatementHTML writes a statement as a printable page. With a price in US cents a second
// it shows dollars beside seconds.
func StatementHTML(out io.Writer, s book.Statement, centsPerSecond *decimal.Decimal) error {
	dollars := func(seconds int64) string {
		if centsPerSecond == nil {
			return ""
		}
		return Dollars(seconds, *centsPerSecond)
	}
	return page.Execute(out, struct {
		book.Statement
		Title   string
		Price   *decimal.Decimal
		Dollars func(int64) string
	}{s, PeriodName(s), centsPerSecond, dollars})
}

// PeriodName returns the period of a statement as text: "November 2026", "2026-11-01 to …"
// or "all entries".
func PeriodName(s book.Statement) string {
	switch {
	case s.From == nil && s.To == nil:
		return "all entries"
	case s.From != nil && s.To != nil && s.From.Day() == 1 && s.From.AddDate(0, 1, 0).Equal(*s.To):
		return s.From.Format("January 2006")
	}
	name := "until "
	if s.From != nil {
		name = "from " + s.From.UTC().Format(time.DateTime)
		if s.To == nil {
			return name
		}
		name += " to "
	}
	return name + s.To.UTC().Format(time.DateTime)
}

// grouped writes an integer with thousands separators.
func grouped(n int64) string {
	digits, sign := strconv.FormatInt(n, 10), ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
