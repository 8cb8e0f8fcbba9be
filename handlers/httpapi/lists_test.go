package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestListsPageBothWays(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(0)
	var ids []string
	for range 5 {
		ids = append([]string{c.do(http.MethodPost, "/v1/videos", `{"content_type": "video/mp4"}`).at("id").(string)}, ids...)
	}
	page := func(query string) ([]string, bool) {
		got := c.do(http.MethodGet, "/v1/videos?"+query, "")
		require.Equal(t, http.StatusOK, got.StatusCode, string(got.raw))
		var list []string
		for _, item := range got.at("data").([]any) {
			list = append(list, item.(map[string]any)["id"].(string))
		}
		return list, got.at("has_more").(bool)
	}
	tests := map[string]struct {
		query string
		want  []string
		more  bool
	}{
		"all":                   {"", ids, false},
		"the first two":         {"limit=2", ids[:2], true},
		"after the second":      {"limit=2&starting_after=" + ids[1], ids[2:4], true},
		"the last":              {"limit=2&starting_after=" + ids[3], ids[4:], false},
		"before the third":      {"limit=2&ending_before=" + ids[2], ids[:2], false},
		"one before the third":  {"limit=1&ending_before=" + ids[2], ids[1:2], true},
		"in a status":           {"status=awaiting_upload", ids, false},
		"in no status":          {"status=ready", nil, false},
		"unknown parameters":    {"colour=red", ids, false},
		"before all":            {"created_before=2020-01-01T00:00:00Z", nil, false},
		"after a time, in zone": {"created_after=2020-01-01T00:00:00%2B02:00", ids, false},
		"in lower case":         {"created_after=2020-01-01t00:00:00z", ids, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, more := page(tt.query)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.more, more)
		})
	}
	stranger := w.customer(0)
	for query, want := range map[string]struct {
		param string
		code  fault.Code
	}{
		"limit=0":                        {"limit", fault.ValidationFailed},
		"limit=101":                      {"limit", fault.ValidationFailed},
		"limit=ten":                      {"limit", fault.ValidationFailed},
		"limit=":                         {"limit", fault.ValidationFailed},
		"limit=1&limit=2":                {"limit", fault.ValidationFailed},
		"status=lost":                    {"status", fault.ValidationFailed},
		"starting_after=video_x&limit=1": {"starting_after", fault.ValidationFailed},
		"starting_after=" + ids[0] + "&ending_before=" + ids[1]:    {"ending_before", fault.ValidationFailed},
		"created_after=yesterday":                                  {"created_after", fault.ValidationFailed},
		"starting_after=video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A&limit=20": {"", fault.ResourceNotFound},
	} {
		status := fault.Lookup(want.code).Status
		refused := c.do(http.MethodGet, "/v1/videos?"+query, "")
		w.refused(refused, status, want.code, want.param)
		require.NotContains(t, strings.ToLower(string(refused.raw)), "body", "a parameter is not in the body")
	}
	w.refused(stranger.do(http.MethodGet, "/v1/videos?starting_after="+ids[0], ""), 404, fault.ResourceNotFound, "")
}

func TestAnalysisListsFilter(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := w.customer(1000)
	one, two := c.ready(), c.ready()
	a, b := c.ask(one, "Is there a dog?"), c.ask(two, "Is there a cat?")
	require.Equal(t, http.StatusOK, c.do(http.MethodPost, "/v1/analyses/"+b+"/cancel", "").StatusCode)
	tests := map[string][]string{
		"/v1/analyses":                                  {b, a},
		"/v1/analyses?video_id=" + one:                  {a},
		"/v1/videos/" + two + "/analyses":               {b},
		"/v1/videos/" + two + "/analyses?status=queued": nil,
		"/v1/analyses?status=canceled":                  {b},
		"/v1/analyses?model=SIGHT-0":                    {b, a},
		"/v1/analyses?model=sight-9":                    nil,
	}
	for path, want := range tests {
		var got []string
		for _, item := range c.do(http.MethodGet, path, "").at("data").([]any) {
			got = append(got, item.(map[string]any)["id"].(string))
		}
		require.Equal(t, want, got, path)
	}
	w.refused(c.do(http.MethodGet, "/v1/analyses?model=%ff", ""), 400, fault.ValidationFailed, "model")
	w.refused(c.do(http.MethodGet, "/v1/analyses?model=a%00", ""), 400, fault.ValidationFailed, "model")
	w.refused(c.do(http.MethodGet, "/v1/analyses?status=done", ""), 400, fault.ValidationFailed, "status")
	w.refused(c.do(http.MethodGet, "/v1/analyses?video_id=1", ""), 404, fault.ResourceNotFound, "video_id")
	w.refused(c.do(http.MethodGet, "/v1/analyses?video_id=video_"+strings.Repeat("0", 26), ""), 404, fault.ResourceNotFound, "video_id")
	w.refused(c.do(http.MethodGet, "/v1/credits?kind=gift", ""), 400, fault.ValidationFailed, "kind")
}
