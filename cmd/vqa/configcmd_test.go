package main

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/terminal"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	environment := map[string]string{
		"VQA_DATABASE_URL": "postgres://vqa:hunter2@db/vqa", "VQA_INFERENCE_URL": "http://u:hunter2@gpu:8000,https://u:hunter2@gpu2/x",
		"VQA_TRUSTED_PROXIES": "10.0.0.1,10.0.0.2", "VQA_LLM_URL": "http://llm:8000/v1", "VQA_LLM_API_KEY": "sk-hunter2", "VQA_VLM_API_KEY": "sk-hunter2",
	}
	c, err := env.ParseAsWithOptions[config](env.Options{Environment: environment})
	require.NoError(t, err)
	c.PublicURL = "http://" + c.Addr
	all := settings(c, func(name string) (string, bool) { v, ok := environment[name]; return v, ok })
	by := map[string]setting{}
	for _, s := range all {
		require.NotContains(t, s.Value, "hunter2", s.Env)
		require.NotEmpty(t, s.Env)
		require.NotEmpty(t, s.Help, s.Env)
		by[s.Env] = s
	}
	require.Len(t, by, len(all))
	tests := map[string][2]string{ // value, source
		"VQA_ADDR":                   {"127.0.0.1:8080", "default"},
		"VQA_PUBLIC_URL":             {"http://127.0.0.1:8080", "derived"},
		"VQA_DATABASE_URL":           {"postgres://vqa:xxxxx@db/vqa", "environment"},
		"VQA_INFERENCE_URL":          {"http://u:xxxxx@gpu:8000,https://u:xxxxx@gpu2/x", "environment"},
		"VQA_TRUSTED_PROXIES":        {"10.0.0.1,10.0.0.2", "environment"},
		"VQA_MAX_VIDEO_DURATION":     {"4h0m0s", "default"},
		"VQA_LLM_URL":                {"http://llm:8000/v1", "environment"},
		"VQA_LLM_API_KEY":            {"xxxxx", "environment"},
		"VQA_VLM_API_KEY":            {"xxxxx", "environment"},
		"VQA_LLM_TIMEOUT":            {"1s", "default"},
		"VQA_ALLOWED_PURCHASE_CENTS": {"1000,2500,5000,10000", "default"},
		"VQA_BLOB_URL":               {"", "default"},
	}
	for name, want := range tests {
		require.Equal(t, want, [2]string{by[name].Value, by[name].Source}, name)
	}
	var out bytes.Buffer
	same := running{URL: "http://127.0.0.1:1", Settings: map[string]string{}}
	for _, s := range all {
		same.Settings[s.Env] = s.Value
	}
	other := running{URL: "http://127.0.0.1:2", dataDir: "/there", Settings: maps.Clone(same.Settings)}
	other.Settings["VQA_LLM_TIMEOUT"], other.Settings["VQA_LLM_URL"] = "7s", ""
	servers := []running{same, other}
	printSettings(terminal.NewScreen(&out), compared(all, servers), servers)
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "VQA_BLOB_URL")
	require.Contains(t, out.String(), "the server at http://127.0.0.1:1 runs with these values\n")
	_, differences, _ := strings.Cut(out.String(), "the server at http://127.0.0.1:2 (data in /there) has other values:\n")
	require.Equal(t, []string{"VARIABLE", "RUNNING", "WITH", "VQA_LLM_URL", "(empty)", "VQA_LLM_TIMEOUT", "7s"}, strings.Fields(differences))
}
