package objects

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSignatureCoversEverything: a signed URL with any change is refused.
func TestSignatureCoversEverything(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	up := s.uploadURL(t, 10)
	require.Equal(t, 200, put(t, up, strings.NewReader("bytes")).status)
	down, err := s.DownloadURL(t.Context(), UploadKey(videoID), "a.mp4", mp4, SignedURLLife)
	require.NoError(t, err)
	edit := func(raw string, change func(path *string, q url.Values)) string {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		q := u.Query()
		change(&u.Path, q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	set := func(name, value string) func(*string, url.Values) {
		return func(_ *string, q url.Values) { q.Set(name, value) }
	}
	cases := []struct{ name, method, url string }{
		{"another method on an upload", http.MethodGet, up.URL},
		{"another method on a playback", http.MethodPut, down.URL},
		{"another key", http.MethodPut, edit(up.URL, func(p *string, _ url.Values) { *p = Path + VideoKey(videoID) })},
		{"a larger limit", http.MethodPut, edit(up.URL, set("max_bytes", "1000"))},
		{"another type", http.MethodPut, edit(up.URL, set("type", "text/html"))},
		{"a later expiry", http.MethodPut, edit(up.URL, set("expires", "99999999999"))},
		{"another file name", http.MethodGet, edit(down.URL, set("filename", "b.exe"))},
		{"a new argument", http.MethodGet, edit(down.URL, set("x", "1"))},
		{"a repeated argument", http.MethodPut, up.URL + "&max_bytes=1000"},
		{"no signature", http.MethodPut, edit(up.URL, func(_ *string, q url.Values) { q.Del("signature") })},
		{"an empty signature", http.MethodPut, edit(up.URL, set("signature", ""))},
		{"a short signature", http.MethodPut, edit(up.URL, set("signature", "AAAA"))},
		{"no query", http.MethodGet, s.server.URL + Path + UploadKey(videoID)},
		{"a path that climbs", http.MethodGet, s.server.URL + Path + "..%2f..%2fetc/passwd?" + strings.SplitN(down.URL, "?", 2)[1]},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := do(t, c.method, c.url, map[string]string{"Content-Type": mp4}, strings.NewReader("other"))
			require.Equal(t, "insufficient_scope", got.code, got.body)
			require.Equal(t, 403, got.status)
		})
	}
	require.Equal(t, "bytes", readAll(t, s.Store, UploadKey(videoID)))
}

// TestSignedURLExpires: a signed URL lives one hour, to the second
// (docs/contract.md#signed-urls).
func TestSignedURLExpires(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	up := s.uploadURL(t, 10)
	require.WithinDuration(t, time.Now().Add(time.Hour), up.ExpiresAt, 5*time.Second)
	s.offset.Store(int64(time.Until(up.ExpiresAt) - 5*time.Second))
	require.Equal(t, 200, put(t, up, strings.NewReader("in time")).status)
	s.offset.Store(int64(time.Until(up.ExpiresAt) + time.Millisecond))
	late := put(t, up, strings.NewReader("late"))
	require.Equal(t, "token_expired", late.code)
	require.Equal(t, 401, late.status)
	require.Equal(t, "in time", readAll(t, s.Store, UploadKey(videoID)))
}

func TestKeysStayInTheFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, key := range []string{"", "/", "..", "../x", "a/../b", "a//b", "/a", "a/", "a/.hidden", "a\x00b", "a b", "x.tmp", "x.attrs", "ä", strings.Repeat("a", 201)} {
		_, err := s.Stat(t.Context(), key)
		require.ErrorContains(t, err, "resource_not_found", "%q", key)
		_, err = s.UploadURL(t.Context(), key, mp4, 1, time.Hour)
		require.Error(t, err, "%q", key)
		_, ok := s.LocalPath(key)
		require.False(t, ok, "%q", key)
	}
}

// TestDispositionHoldsAnyFilename: a file name stays inside its header parameter and never
// names a folder.
func TestDispositionHoldsAnyFilename(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z"\\/;\r\n.]{0,20}`)).Draw(t, "name")
		header := disposition(name)
		for _, r := range header {
			if r > unicode.MaxASCII || !unicode.IsPrint(r) {
				t.Fatalf("%q is not a header value", header)
			}
		}
		kind, params, err := mime.ParseMediaType(header)
		if err != nil || kind != "inline" {
			t.Fatalf("%q: %s, %v", header, kind, err)
		}
		if got := params["filename"]; got != safeFilename(name) || strings.ContainsAny(got, `/\"`) || strings.HasPrefix(got, ".") {
			t.Fatalf("%q came back as %q", name, got)
		}
	})
}
