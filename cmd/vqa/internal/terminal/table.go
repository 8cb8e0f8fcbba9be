package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is a list of rows, the head first. Columns of numbers are aligned to the right.
type Table [][]string

// Print writes the table with a dimmed head, or "none" when it has only a head. When the screen is known to be
// narrower than the table, it writes a line for each cell instead.
func (t Table) Print(out Screen) {
	switch len(t) {
	case 0:
		return
	case 1:
		fmt.Fprintln(out, Margin+"none")
		return
	}
	for _, row := range t {
		for c := range row {
			row[c] = Printable(row[c])
		}
	}
	width, right := make([]int, len(t[0])), make([]bool, len(t[0]))
	for c := range t[0] {
		right[c] = len(t) > 1
		for r, row := range t {
			width[c] = max(width[c], utf8.RuneCountInString(row[c]))
			right[c] = right[c] && (r == 0 || numeric(row[c]))
		}
	}
	total := 0
	for _, w := range width {
		total += len(Margin) + w
	}
	if out.measured && total > out.Columns {
		t.printCells(out)
		return
	}
	for r, row := range t {
		var line strings.Builder
		for c, cell := range row {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
			if right[c] {
				line.WriteString("  " + pad + cell)
			} else {
				line.WriteString("  " + cell + pad)
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if r == 0 {
			text = out.Paint(Dim, text)
		}
		fmt.Fprintln(out, text)
	}
}

// List returns a function that prints a table with a row for each element.
func List[T any](row func(T) []string, head ...string) func(Screen, []T) {
	return func(out Screen, all []T) {
		t := Table{head}
		for _, one := range all {
			t = append(t, row(one))
		}
		t.Print(out)
	}
}

// printCells writes each row as lines with the name and the value of a cell. A blank line separates the rows.
func (t Table) printCells(out Screen) {
	longest := 0
	for _, name := range t[0] {
		longest = max(longest, utf8.RuneCountInString(name))
	}
	for r, row := range t[1:] {
		if r > 0 {
			fmt.Fprintln(out)
		}
		for c, cell := range row {
			if cell != "" {
				pad := strings.Repeat(" ", longest-utf8.RuneCountInString(t[0][c]))
				fmt.Fprintf(out, "%s%s  %s\n", Margin, out.Paint(Dim, t[0][c]+pad), cell)
			}
		}
	}
}

// numeric reports whether a cell is a number, or the dash of a missing number.
func numeric(cell string) bool {
	cell = strings.NewReplacer(",", "", "%", "", "+", "", "$", "").Replace(cell)
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil || cell == "-"
}

// Thousands formats a whole number with separators.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Signed is Thousands with a plus sign before a positive number.
func Signed(n int64) string {
	if n > 0 {
		return "+" + Thousands(n)
	}
	return Thousands(n)
}

// PrintJSON writes v as indented JSON.
func PrintJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
