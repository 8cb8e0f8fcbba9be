package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"
)

// visitor is a browser with its cookies. It follows no redirect.
type visitor struct {
	w      *world
	client *http.Client
}

func (w *world) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	require.NoError(w.t, err)
	return &visitor{w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// send sends a request like a page of the service. headers replace those of the browser; an empty one is not sent.
func (v *visitor) send(method, path, contentType, body string, headers ...string) response {
	v.w.t.Helper()
	r, err := http.NewRequestWithContext(v.w.t.Context(), method, v.w.url+path, strings.NewReader(body))
	require.NoError(v.w.t, err)
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:156.0) Gecko/20100101 Firefox/156.0")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	got, err := v.client.Do(r)
	require.NoError(v.w.t, err)
	raw, err := io.ReadAll(got.Body)
	require.NoError(v.w.t, err)
	require.NoError(v.w.t, got.Body.Close())
	out := response{Response: got, raw: raw}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "application/json") {
		require.NoError(v.w.t, json.Unmarshal(raw, &out.json), string(raw))
	}
	return out
}

func (v *visitor) open(path string) response {
	v.w.t.Helper()
	return v.send(http.MethodGet, path, "", "")
}

func (v *visitor) post(path string, form url.Values, headers ...string) response {
	v.w.t.Helper()
	return v.send(http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode(), headers...)
}

// cookie returns the value of a cookie of the browser, or "".
func (v *visitor) cookie(name string) string {
	at, err := url.Parse(v.w.url)
	require.NoError(v.w.t, err)
	for _, c := range v.client.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func (v *visitor) setCookie(name, value string) {
	at, err := url.Parse(v.w.url)
	require.NoError(v.w.t, err)
	v.client.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}
