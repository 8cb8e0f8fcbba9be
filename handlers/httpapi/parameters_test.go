package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
	"vqa/domain/id"
	"vqa/projections"
)

func TestPreferredWait(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header string
		want   time.Duration
		bad    fault.ViolationCode
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
		"zero":               {header: "wait=0", bad: fault.Range},
		"too long":           {header: "wait=121", bad: fault.Range},
		"beyond durations":   {header: "wait=9223372036854775807", bad: fault.Range},
		"negative":           {header: "wait=-5", bad: fault.Range},
		"no number":          {header: "wait=soon", bad: fault.Format},
		"a fraction":         {header: "wait=1.5", bad: fault.Format},
		"nothing after wait": {header: "wait", bad: fault.Format},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := preferredWait(&tt.header)
			if tt.bad == "" {
				require.NoError(t, err)
				require.Equal(t, tt.want, got)
				return
			}
			require.Empty(t, cmp.Diff([]fault.Violation{{Param: "Prefer", Code: tt.bad}}, fault.Of(err).Violations,
				cmpopts.IgnoreFields(fault.Violation{}, "Message")))
		})
	}
	got, err := preferredWait(nil)
	require.NoError(t, err)
	require.Zero(t, got)
}

func TestPage(t *testing.T) {
	t.Parallel()
	const a, b = "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1B"
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		given listParameters
		want  projections.Page
		bad   []fault.Violation
	}{
		"nothing":         {want: projections.Page{Limit: 20}},
		"everything":      {given: listParameters{limit: new(100), startingAfter: new(a), createdAfter: &at, createdBefore: &at}, want: projections.Page{Limit: 100, StartingAfter: a, CreatedAfter: &at, CreatedBefore: &at}},
		"limit 0":         {given: listParameters{limit: new(0)}, bad: []fault.Violation{v("limit", fault.Range)}},
		"limit 101":       {given: listParameters{limit: new(101)}, bad: []fault.Violation{v("limit", fault.Range)}},
		"both cursors":    {given: listParameters{startingAfter: new(a), endingBefore: new(b)}, bad: []fault.Violation{v("ending_before", fault.Exclusive)}},
		"foreign cursor":  {given: listParameters{startingAfter: new("an" + a[5:])}, bad: []fault.Violation{v("starting_after", fault.Format)}},
		"malformed, both": {given: listParameters{limit: new(-1), endingBefore: new("\x00")}, bad: []fault.Violation{v("limit", fault.Range), v("ending_before", fault.Format)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict := &verdict{}
			got := tt.given.page(id.Video, verdict)
			require.Empty(t, cmp.Diff(tt.bad, verdict.violations, cmpopts.IgnoreFields(fault.Violation{}, "Message")))
			if tt.bad == nil {
				require.Empty(t, cmp.Diff(tt.want, got))
			}
		})
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	require.True(t, allows(nil, "videos:write"), "no list is every scope")
	require.True(t, allows([]string{}, ""), "an operation without scope takes any key")
	require.True(t, allows([]string{"videos:read"}, "videos:read"))
	require.True(t, allows([]string{"videos:write"}, "videos:read"), "write brings read")
	require.False(t, allows([]string{"videos:read"}, "videos:write"))
	require.False(t, allows([]string{"videos:write"}, "analyses:read"))
	require.False(t, allows([]string{}, "videos:read"))
}

func TestBearer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values []string
		want   string
	}{
		"plain":         {[]string{"Bearer svc_test_x"}, "svc_test_x"},
		"any casing":    {[]string{"bEARER svc_test_x"}, "svc_test_x"},
		"spaces":        {[]string{"Bearer   svc_test_x "}, "svc_test_x"},
		"none":          {nil, ""},
		"two":           {[]string{"Bearer a", "Bearer b"}, ""},
		"basic":         {[]string{"Basic YTpi"}, ""},
		"no credential": {[]string{"Bearer "}, ""},
		"only a key":    {[]string{"svc_test_x"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := bearer(http.Header{"Authorization": tt.values})
			require.Equal(t, tt.want != "", ok)
			if ok {
				require.Equal(t, tt.want, got)
			}
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
