package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile clears a screen, changes colors and the reading order, and starts a new line.
const hostile = "a\x1b[2J\x1b[31m\u009b31m\u202e\u2066\u200b\ufeff\u2028\x7f\x07\r\nFORGED\tb"

func TestEscaperKeepsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	value := map[string]string{"name": hostile + "\U000e0041"}
	require.NoError(t, PrintJSON(Escape(&out), value))
	require.Negative(t, strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && r != '\t' && steers(r) }), "%q", out.String())
	var read map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, value, read)
}

func TestEscaper(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := Escape(&out)
	require.Same(t, e, Escape(e))
	s := Screen{Writer: e, Color: true}
	fmt.Fprint(s, s.Paint(BoldRed, "NO\x1b[0m"), " é", "\xff", "\n")
	for _, part := range []byte("日") { // a character that comes in pieces
		n, err := e.Write([]byte{part})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	require.Equal(t, "\x1b[1;31mNO\\u001b[0m\x1b[0m é\\xff\n日", out.String())
	require.Equal(t, `a\u000ab\u0009\xff日\udb40\udc41`, Printable("a\nb\t\xff日\U000e0041"))
}

func TestColumnsAreAlignedBesideEscapedText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	Table{{"NAME", "N"}, {"a\nb", "1"}, {"abcdefghi", "2"}}.Print(NewScreen(&out))
	require.Equal(t, "  NAME       N\n  a\\u000ab   1\n  abcdefghi  2\n", out.String())
}
