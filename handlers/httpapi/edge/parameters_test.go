package edge

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestPreferredWait(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header string
		want   time.Duration
	}{
		"seconds":            {header: "wait=10", want: 10 * time.Second},
		"least":              {header: "wait=1", want: time.Second},
		"most":               {header: "wait=120", want: 120 * time.Second},
		"quoted":             {header: `wait="7"`, want: 7 * time.Second},
		"spaced":             {header: " Wait = 7 ; x=y", want: 7 * time.Second},
		"among others":       {header: "respond-async, wait=5, handling=lenient", want: 5 * time.Second},
		"the first of two":   {header: "wait=5, wait=6", want: 5 * time.Second},
		"only others":        {header: "return=minimal"},
		"empty":              {header: ""},
		"zero":               {header: "wait=0"},
		"too long":           {header: "wait=121", want: 120 * time.Second},
		"beyond durations":   {header: "wait=9223372036854775807", want: 120 * time.Second},
		"beyond integers":    {header: "wait=99999999999999999999", want: 120 * time.Second},
		"negative":           {header: "wait=-5"},
		"no number":          {header: "wait=soon"},
		"a fraction":         {header: "wait=1.5"},
		"nothing after wait": {header: "wait"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, PreferredWait(&tt.header))
		})
	}
	require.Zero(t, PreferredWait(nil))
}

func TestCheckParameters(t *testing.T) {
	t.Parallel()
	const video, analysis = "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "an_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A"
	tests := map[string]struct {
		op, query string
		header    http.Header
		want      []fault.Violation
	}{
		"nothing":                {op: "GET /v1/analyses"},
		"unknown parameters":     {op: "GET /v1/analyses", query: "colour=red&colour=blue&limits=x"},
		"everything":             {op: "GET /v1/analyses", query: "limit=100&starting_after=" + analysis + "&video_id=" + video + "&status=queued&model=any&created_after=2026-11-21T03:04:05Z&created_before=2026-11-21T03:04:05.123%2B01:00"},
		"another kind of cursor": {op: "GET /v1/analyses", query: "starting_after=" + video, want: []fault.Violation{v("starting_after", fault.Format)}},
		"everything wrong": {
			op: "GET /v1/analyses", query: "limit=0&starting_after=x&ending_before=&video_id=x&status=done&model=&created_after=yesterday&created_before=2026-11-21",
			want: []fault.Violation{
				v("created_after", fault.Format), v("created_before", fault.Format), v("ending_before", fault.Format), v("limit", fault.Range),
				v("model", fault.Length), v("starting_after", fault.Format), v("status", fault.Enum),
			},
		},
		"both cursors": {
			op: "GET /v1/videos", query: "starting_after=" + video + "&ending_before=" + video, want: []fault.Violation{v("ending_before", fault.Exclusive)},
		},
		"given twice": {
			op: "GET /v1/videos", query: "limit=1&limit=1&status=ready&status=failed", want: []fault.Violation{v("limit", fault.Exclusive), v("status", fault.Exclusive)},
		},
		"no integer":                             {op: "GET /v1/videos", query: "limit=1.5", want: []fault.Violation{v("limit", fault.Type)}},
		"a large integer":                        {op: "GET /v1/videos", query: "limit=99999999999999999999", want: []fault.Violation{v("limit", fault.Type)}},
		"no UTF-8":                               {op: "GET /v1/analyses", query: "model=%ff", want: []fault.Violation{v("model", fault.Format)}},
		"a NUL character":                        {op: "GET /v1/analyses", query: "model=a%00", want: []fault.Violation{v("model", fault.Format)}},
		"a long text":                            {op: "GET /v1/analyses", query: "model=" + strings.Repeat("x", 129), want: []fault.Violation{v("model", fault.Length)}},
		"a malformed pair":                       {op: "GET /v1/analyses", query: "limit=5&model=%zz", want: []fault.Violation{v("", fault.Format)}},
		"a malformed pair where nothing is read": {op: "GET /v1/videos/{id}", query: "x=%zz"},
		"headers": {
			op: "POST /v1/analyses", header: http.Header{"Idempotency-Key": {"a-key"}, "Prefer": {"respond-async, wait=5"}},
		},
		"wrong headers": {
			op: "POST /v1/analyses", header: http.Header{"Idempotency-Key": {"a key"}, "Prefer": {"wait=121"}},
			want: []fault.Violation{v("Idempotency-Key", fault.Format)},
		},
		"an empty key": {op: "POST /v1/videos", header: http.Header{"Idempotency-Key": {""}}, want: []fault.Violation{v("Idempotency-Key", fault.Length)}},
		"a long key":   {op: "POST /v1/videos", header: http.Header{"Idempotency-Key": {strings.Repeat("k", 256)}}, want: []fault.Violation{v("Idempotency-Key", fault.Length)}},
		"two keys":     {op: "POST /v1/videos", header: http.Header{"Idempotency-Key": {"a", "b"}}, want: []fault.Violation{v("Idempotency-Key", fault.Exclusive)}},
		"another text": {op: "POST /v1/videos", header: http.Header{"Idempotency-Key": {"\xff"}}, want: []fault.Violation{v("Idempotency-Key", fault.Format)}},
	}
	c := shippedContract(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/?"+tt.query, nil)
			r.Header = tt.header
			verdict := &verdict{}
			c.operations[tt.op].checkParameters(r, verdict)
			_ = verdict.err() // puts them in order
			require.Empty(t, cmp.Diff(tt.want, verdict.violations, cmpopts.IgnoreFields(fault.Violation{}, "Message")))
		})
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	tests := map[string]struct {
		remote    string
		forwarded []string
		want      string
	}{
		"direct":                        {"203.0.113.7:4711", nil, "203.0.113.7"},
		"a claim by anyone":             {"203.0.113.7:4711", []string{"198.51.100.1"}, "203.0.113.7"},
		"through a proxy":               {"10.0.0.1:4711", []string{"198.51.100.1"}, "198.51.100.1"},
		"through two":                   {"10.0.0.1:4711", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		"in two headers":                {"10.0.0.1:4711", []string{"198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		"a claim before a proxy":        {"10.0.0.1:4711", []string{"192.0.2.9, 198.51.100.1"}, "198.51.100.1"},
		"nonsense from a proxy":         {"10.0.0.1:4711", []string{"unknown"}, "10.0.0.1"},
		"IPv6 is its subscriber":        {"[2001:db8:1:2:3::4]:4711", nil, "2001:db8:1:2::/64"},
		"IPv4 in IPv6":                  {"[::ffff:203.0.113.7]:4711", nil, "203.0.113.7"},
		"a trusted proxy, IPv4 in IPv6": {"[::ffff:10.0.0.1]:4711", []string{"198.51.100.1"}, "198.51.100.1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/v1/sandbox", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = tt.remote, tt.forwarded
			require.Equal(t, tt.want, clientAddress(r, trusted))
			hash := AddressHash([]byte("key"), trusted)(r)
			require.Len(t, hash, 64)
			require.NotContains(t, hash, tt.want)
			require.NotEqual(t, hash, AddressHash([]byte("other"), trusted)(r), "the hash depends on the key")
		})
	}
}
