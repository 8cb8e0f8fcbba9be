package edge

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"vqa/domain/fault"
	"vqa/domain/id"
)

// FuzzQuery sends any query string to every operation. A valid one has a page within its limits.
// An invalid one is refused with violations that have a code.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"limit=5&starting_after=video_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A", "limit=0&limit=0", "status=queued&model=%00", "created_after=2026-11-21T03:04:05Z",
		"ending_before=an_01JZ8Y5C3Q7R9T2V4W6X8Y0Z1A&starting_after=", "kind=%ff;type=x", "limit=+1", "created_before=0000-01-01T00:00:00%2B23:59", "%zz",
	} {
		f.Add(seed)
	}
	c := shippedContract(f)
	f.Fuzz(func(t *testing.T, query string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: query}, Header: http.Header{}}
		for name, op := range c.operations {
			v := &verdict{}
			op.checkParameters(r, v)
			if sound(t, name, v); len(v.violations) > 0 || !op.has("limit") {
				continue
			}
			values, err := url.ParseQuery(query)
			if err != nil {
				t.Fatalf("%s accepted %q", name, query)
			}
			requireList(t, name, cursorOf(op), values)
		}
	})
}

// sound requires that violations have a code and a message.
func sound(t *testing.T, name string, v *verdict) {
	t.Helper()
	err := v.err()
	if err == nil {
		return
	}
	if !fault.Has(err, fault.ValidationFailed) {
		t.Fatalf("%s: %v", name, err)
	}
	for _, violation := range v.violations {
		if violation.Code == "" || violation.Message == "" {
			t.Fatalf("%s: %+v", name, violation)
		}
	}
}

func cursorOf(op *operation) id.Prefix {
	for _, p := range op.parameters {
		if p.cursor != "" {
			return p.cursor
		}
	}
	return ""
}

// requireList requires that accepted parameters of a list are valid.
func requireList(t *testing.T, name string, cursor id.Prefix, values url.Values) {
	t.Helper()
	fail := func(parameter string) { t.Fatalf("%s accepted %s = %q", name, parameter, values[parameter]) }
	if n, err := strconv.Atoi(values.Get("limit")); values.Has("limit") && (err != nil || n < 1 || n > 100) {
		fail("limit")
	}
	for _, parameter := range []string{"starting_after", "ending_before"} {
		if values.Has(parameter) && !id.Valid(cursor, values.Get(parameter)) {
			fail(parameter)
		}
	}
	for _, parameter := range []string{"created_after", "created_before"} {
		if _, err := time.Parse(time.RFC3339, values.Get(parameter)); values.Has(parameter) && err != nil {
			fail(parameter)
		}
	}
	if values.Has("starting_after") && values.Has("ending_before") {
		fail("ending_before")
	}
}

// FuzzHeaders sends any text in the headers that the edge reads.
func FuzzHeaders(f *testing.F) {
	f.Add("wait=5", "a-key", `W/"x", *`, "198.51.100.1, 10.0.0.2", "Bearer svc_live_x")
	f.Add("wait=9999999999999999999, respond-async", "a key", `"`, "unknown,,[::1%eth0]:80", "Bearer")
	f.Add("wait=\"7", "", "*", "::ffff:10.0.0.1", "Basic x")
	c := shippedContract(f)
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	f.Fuzz(func(t *testing.T, prefer, key, ifNoneMatch, forwarded, authorization string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/analyses", nil)
		r.RemoteAddr = "10.0.0.1:4711"
		r.Header = http.Header{
			"Prefer": {prefer, prefer}, idempotencyHeader: {key}, "If-None-Match": {ifNoneMatch}, "X-Forwarded-For": {forwarded},
			"Authorization": {authorization},
		}
		joinPreferHeaders(r.Header)
		for name, op := range c.operations {
			v := &verdict{}
			op.checkParameters(r, v)
			sound(t, name, v)
			if op.idempotent && !v.has(idempotencyHeader) && (len(key) < 1 || len(key) > 255 || strings.ContainsAny(key, " \x00\x7f")) {
				t.Fatalf("the key %q was accepted", key)
			}
		}
		header := r.Header.Get("Prefer")
		if wait := PreferredWait(&header); wait < 0 || wait > maxWait {
			t.Fatalf("%q waits %s", header, wait)
		}
		if matches(r.Header.Values("If-None-Match"), `W/"tag"`) && !strings.Contains(ifNoneMatch, `"tag"`) && !strings.Contains(ifNoneMatch, "*") {
			t.Fatalf("%q matches another tag", ifNoneMatch)
		}
		if address := clientAddress(r, trusted); address == "" {
			t.Fatalf("%q has no address", forwarded)
		}
		if credential, given, err := bearer(r.Header); err == nil && given && (credential == "" || strings.ContainsAny(credential, " \t\r\n")) {
			t.Fatalf("%q has the invalid credential %q", authorization, credential)
		}
	})
}
