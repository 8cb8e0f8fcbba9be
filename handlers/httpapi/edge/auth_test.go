package edge

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	"vqa/domain/fault"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values []string
		want   string
		given  bool
	}{
		"plain":                  {[]string{"Bearer svc_test_x"}, "svc_test_x", true},
		"any casing":             {[]string{"bEARER svc_test_x"}, "svc_test_x", true},
		"spaces":                 {[]string{"Bearer   svc_test_x "}, "svc_test_x", true},
		"the longest":            {[]string{"Bearer " + strings.Repeat("x", maxCredential)}, strings.Repeat("x", maxCredential), true},
		"none":                   {nil, "", false},
		"two":                    {[]string{"Bearer a", "Bearer b"}, "", true},
		"basic":                  {[]string{"Basic YTpi"}, "", true},
		"no credential":          {[]string{"Bearer "}, "", true},
		"empty":                  {[]string{""}, "", true},
		"only a key":             {[]string{"svc_test_x"}, "", true},
		"two credentials in one": {[]string{"Bearer a b"}, "", true},
		"a tab":                  {[]string{"Bearer a\tb"}, "", true},
		"not ASCII":              {[]string{"Bearer svc_test_é"}, "", true},
		"too long":               {[]string{"Bearer " + strings.Repeat("x", maxCredential+1)}, "", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, given, err := bearer(http.Header{"Authorization": tt.values})
			require.Equal(t, tt.given, given)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.given && tt.want == "", fault.Has(err, fault.InvalidAPIKey), "%v", err)
		})
	}
}

// FuzzBearer: every header yields one clean credential or invalid_api_key. A credential has at
// most one kind.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer x", "bearer  svc_live_x ", "Basic YTpi", "Bearer svcct_x", "Bearer a.b.c", "Bearer \x00", "Bearer é"} {
		f.Add(seed, "", false)
		f.Add(seed, seed, true)
	}
	f.Fuzz(func(t *testing.T, first, second string, two bool) {
		h := http.Header{"Authorization": {first}}
		if two {
			h.Add("Authorization", second)
		}
		credential, given, err := bearer(h)
		require.True(t, given)
		if err != nil {
			require.True(t, fault.Has(err, fault.InvalidAPIKey))
			require.Empty(t, credential)
			return
		}
		require.False(t, two, "two headers are refused")
		require.NotEmpty(t, credential)
		require.LessOrEqual(t, len(credential), maxCredential)
		require.NotContains(t, credential, " ")
		require.Contains(t, first, credential)
		kinds := 0
		for _, is := range []bool{account.LooksLikeKey(credential), account.LooksLikeClientToken(credential)} {
			if is {
				kinds++
			}
		}
		require.LessOrEqual(t, kinds, 1)
	})
}
