package edge

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestParseJSON(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		raw        string
		want       any
		violations []fault.Violation
	}{
		"numbers that mean the same": {raw: `[1, 1.0, 1e0, 10e-1]`, want: []any{int64(1), int64(1), int64(1), int64(1)}},
		"a fraction":                 {raw: `1.5`, want: 1.5},
		"an integer beyond int64":    {raw: `1e30`, want: 1e30},
		"the largest int64":          {raw: `9223372036854775807`, want: int64(math.MaxInt64)},
		"minus zero":                 {raw: `-0.0`, want: int64(0)},
		"nothing":                    {raw: `null`, want: nil},
		"a whole pair of halves":     {raw: `"\ud83d\ude00\uD83D\uDE00"`, want: "😀😀"},
		"a half that is text":        {raw: `"\\ud83d"`, want: `\ud83d`},
		"empty things":               {raw: `{"a": {}, "b": [], "c": ""}`, want: map[string]any{"a": map[string]any{}, "b": []any{}, "c": ""}},
		"brackets in a string":       {raw: `"` + strings.Repeat("[{\\\"", 50) + `"`, want: strings.Repeat(`[{"`, 50)},
		"a member twice": {
			raw: `{"a": {"b": 1, "b": 2}}`, want: map[string]any{"a": map[string]any{"b": int64(2)}},
			violations: []fault.Violation{{Param: "a.b", Code: fault.Exclusive, Message: "must not appear twice"}},
		},
		"a member twice, spelled differently": {
			raw: `{"a": 1, "\u0061": 2}`, want: map[string]any{"a": int64(2)},
			violations: []fault.Violation{{Param: "a", Code: fault.Exclusive, Message: "must not appear twice"}},
		},
		"U+0000": {
			raw: `{"l": ["x", "\u0000"]}`, want: map[string]any{"l": []any{"x", "\x00"}},
			violations: []fault.Violation{{Param: "l.1", Code: fault.Format, Message: "must not contain U+0000"}},
		},
		"a number beyond float64": {
			raw: `{"n": 1e999}`, want: map[string]any{"n": 0.0},
			violations: []fault.Violation{{Param: "n", Code: fault.Range, Message: "is out of the range of numbers"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, isJSON := parseJSON([]byte(tt.raw), nil)
			require.True(t, isJSON)
			require.Empty(t, cmp.Diff(tt.want, got.value))
			require.Empty(t, cmp.Diff(tt.violations, got.violations))
		})
	}
}

func TestParseJSONRefusesInvalidJSON(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"nothing":           "",
		"white space":       " \n",
		"cut":               `{"a": `,
		"trailing value":    `{} {}`,
		"trailing bracket":  `{}}`,
		"trailing comma":    `{"a": 1,}`,
		"single quotes":     `{'a': 1}`,
		"comment":           `{} // no`,
		"invalid UTF-8":     "{\"a\": \"\xff\"}",
		"byte order mark":   "\xef\xbb\xbf{}",
		"NaN":               `NaN`,
		"leading zero":      `01`,
		"lone control":      "\"\x01\"",
		"half a character":  `"\ud83d"`,
		"the other half":    `{"\ude00": 1}`,
		"halves reversed":   `"\ude00\ud83d"`,
		"a half and text":   `"\ud83dx"`,
		"a half, escaped":   `"\ud83d\n"`,
		"two first halves":  `"\ud83d\ud83d\ude00"`,
		"too deep":          strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		"far too deep":      strings.Repeat(`{"a":`, 100_000),
		"unbalanced string": `"abc`,
	}
	for name, raw := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, isJSON := parseJSON([]byte(raw), nil)
			require.False(t, isJSON)
			require.Len(t, got.violations, 1)
			require.Equal(t, "", got.violations[0].Param)
			require.Equal(t, fault.Format, got.violations[0].Code)
			require.NotEmpty(t, got.violations[0].Message)
		})
	}
}

func TestParseJSONTakesTheDeepestAllowed(t *testing.T) {
	t.Parallel()
	got, isJSON := parseJSON([]byte(strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth)), nil)
	require.True(t, isJSON)
	require.Empty(t, got.violations)
}

// FuzzParseJSON compares parseJSON with encoding/json: both accept the same texts with the same
// values, except for those that parseJSON refuses on purpose.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,"x",null,true]}`, `[1e999]`, `{"a":1,"a":2}`, `"\ud800"`, `[[[]]]`, `1 2`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, isJSON := parseJSON(raw, nil)
		if !isJSON {
			if len(got.violations) != 1 || got.violations[0].Message == "" {
				t.Fatalf("%q: %+v", raw, got.violations)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is not JSON and was accepted", raw)
		}
		if len(got.violations) > 0 {
			return
		}
		var want any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		again, err := json.Marshal(got.value)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		var back any
		if err := json.Unmarshal(again, &back); err != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("%q was read as %s (%v)", raw, again, errors.Join(err))
		}
	})
}
