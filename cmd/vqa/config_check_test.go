package main

import (
	"testing"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"
)

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"the variable VQA_ADRR is not a setting: did you mean VQA_ADDR?",
		"the variable VQA_NOTHING_LIKE_THIS_AT_ALL is not a setting: vqa config lists all settings",
		"the variable VQA_RATE_READ is not a setting: did you mean VQA_RATE_READS?",
	}, unknownVariables([]string{
		"VQA_ADDR=x", "VQA_RATE_READ=5", "VQA_ADRR=127.0.0.1:9", "PATH=/bin", "VQA_API_KEY=k", "VQA_TEST_DATABASE_URL=x", "VQA_NOTHING_LIKE_THIS_AT_ALL=1",
	}))
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ADRR", "ADDR", 1}, {"same", "same", 0}} {
		require.Equal(t, tt.want, distance(tt.a, tt.b), "%s %s", tt.a, tt.b)
	}
}

// TestUnknownVariablesAreReported checks that every command warns on standard error.
func TestUnknownVariablesAreReported(t *testing.T) {
	b := newToolbench(t)
	t.Setenv("VQA_RATE_READ", "5")
	out, complaint, err := b.run("config", "--json")
	require.NoError(t, err)
	require.Contains(t, complaint, "did you mean VQA_RATE_READS?")
	require.NotContains(t, out, "did you mean")
}

func TestAddressNeedsAPortThatExists(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:nonsense"} {
		err := config{Addr: addr}.check()
		require.ErrorContains(t, err, `VQA_ADDR is "`+addr+`", but it must have a port of 0 to 65535`)
	}
}

func TestWrongValuesNameVariableValueAndRule(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ value, want string }{
		"VQA_RATE_READS":             {"many", `VQA_RATE_READS is "many", but it must be a whole number`},
		"VQA_SANDBOX_PER_IP":         {"0", `VQA_SANDBOX_PER_IP is "0", but it must be greater than 0`},
		"VQA_MAX_VIDEO_DURATION":     {"4", `VQA_MAX_VIDEO_DURATION is "4", but it must be a duration with a unit`},
		"VQA_DEMO":                   {"maybe", `VQA_DEMO is "maybe", but it must be true or false`},
		"VQA_PRICE_PER_SECOND_CENTS": {"half", `VQA_PRICE_PER_SECOND_CENTS is "half", but it must be a decimal number`},
		"VQA_ALLOWED_PURCHASE_CENTS": {"1,x", `VQA_ALLOWED_PURCHASE_CENTS is "1,x", but it must be whole numbers`},
		"VQA_MIN_FREE_SPACE":         {"lots", `VQA_MIN_FREE_SPACE is "lots", but it must be a whole number of bytes, or a size such as 500MiB`},
		"VQA_ADDR":                   {"8080", `VQA_ADDR is "8080", but it must be an address with a port`},
		"VQA_PUBLIC_URL":             {"ftp://x", `VQA_PUBLIC_URL is "ftp://x", but it must be an http or https URL`},
		"VQA_INFERENCE_URL":          {"ftp://u:secret@x", `VQA_INFERENCE_URL is "ftp://u:xxxxx@x", but it must name servers with http://`},
		"VQA_BLOB_URL":               {"gs://x", `VQA_BLOB_URL is "gs://x", but it must be a file:// or s3:// URL`},
		"VQA_LOG_WRITER_TIMEOUT":     {"10ms", `VQA_LOG_WRITER_TIMEOUT is "10ms", but it must be 0, or at least 1s`},
		"VQA_AGENT_ORIGINS":          {"https://chat.example,https://chat.example/", `VQA_AGENT_ORIGINS is "https://chat.example/", but it must have origins as browsers send them`},
		"VQA_LOG_LEVEL":              {"loud", `VQA_LOG_LEVEL is "loud", but it must be debug, info, warn or error`},
		"VQA_BATCH_DISCOUNT_PCT":     {"101", `VQA_BATCH_DISCOUNT_PCT is "101", but it must be 0 to 100`},
		"VQA_TRUSTED_PROXIES":        {"10.0.0.0/99", `VQA_TRUSTED_PROXIES is "10.0.0.0/99", but it must be`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := env.ParseAsWithOptions[config](env.Options{Environment: map[string]string{name: tt.value, "VQA_PUBLIC_URL": "http://x"}})
			if name == "VQA_PUBLIC_URL" {
				c.PublicURL = tt.value
			}
			if err != nil {
				err = valueError(err, func(string) string { return tt.value })
			} else {
				err = c.check()
			}
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "strconv")
			require.NotContains(t, err.Error(), "int64")
		})
	}
}
