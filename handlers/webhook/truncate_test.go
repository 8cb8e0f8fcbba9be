package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// long returns n JSON strings of about 100 bytes each.
func long(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%05d%s", i, strings.Repeat("x", 93))
	}
	return list
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	const limit = 20_000
	type lists struct{ clips, entries, terms int }
	for name, tc := range map[string]struct{ given, want lists }{
		"fits":               {lists{10, 10, 10}, lists{10, 10, 10}},
		"clips first":        {lists{190, 10, 10}, lists{175, 10, 10}},
		"then the narrative": {lists{100, 300, 50}, lists{0, 145, 50}},
		"the query last":     {lists{100, 100, 400}, lists{0, 0, 195}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event := map[string]any{"id": "evt_1", "type": "analysis.completed", "data": map[string]any{
				"id": "an_1", "object": "analysis", "artifacts": nil,
				"result":    map[string]any{"answer": "yes", "clips": long(tc.given.clips), "receipt": nil},
				"narrative": map[string]any{"entries": long(tc.given.entries)},
				"query":     map[string]any{"search_terms": long(tc.given.terms)},
			}}
			body, err := json.Marshal(event)
			require.NoError(t, err)
			cut, err := truncate(body, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(cut), limit)
			var got struct {
				ID   string
				Data struct {
					ID        string
					Truncated bool
					Result    struct {
						Answer string
						Clips  []string
					}
					Narrative struct{ Entries []string }
					Query     struct {
						SearchTerms []string `json:"search_terms"`
					}
				}
			}
			require.NoError(t, json.Unmarshal(cut, &got))
			require.Equal(t, tc.want, lists{len(got.Data.Result.Clips), len(got.Data.Narrative.Entries), len(got.Data.Query.SearchTerms)})
			require.Equal(t, tc.want != tc.given, got.Data.Truncated)
			require.Equal(t, []string{"evt_1", "an_1", "yes"}, []string{got.ID, got.Data.ID, got.Data.Result.Answer})
			if tc.want == tc.given {
				require.Equal(t, body, cut)
			} else {
				require.Greater(t, len(cut), limit-300, "no more than needed is cut")
			}
		})
	}
}

func TestTruncateKeepsTheResource(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(map[string]any{"id": "evt_1", "data": map[string]any{
		"id": "an_1", "object": "analysis", "status": "completed", "prompt": strings.Repeat("x", 2000),
	}})
	require.NoError(t, err)
	cut, err := truncate(body, 1000)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"evt_1","data":{"id":"an_1","object":"analysis","status":"completed","truncated":true}}`, string(cut))
	_, err = truncate([]byte("no JSON"), 1)
	require.Error(t, err)
}

func TestRetryAfterValues(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, " 60 ": time.Minute, "-5": 0, "soon": 0, "99999999999": 0,
		now.Add(time.Hour).Format(http.TimeFormat): time.Hour, now.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		require.Equal(t, want, retryAfter(value, now), value)
	}
}
