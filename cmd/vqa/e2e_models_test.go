package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	result "vqa/domain/answer"
)

// TestModels lists the models beside a running service and without one.
func TestModels(t *testing.T) {
	t.Parallel()
	type listed struct {
		Model, Use, License, Program string
		Vocabulary                   []string
		FramesPerSecond              *float64 `json:"frames_per_second"`
	}
	requireDetector := func(raw []byte) []listed {
		t.Helper()
		var all []listed
		require.NoError(t, json.Unmarshal(raw, &all), "%s", raw)
		require.Equal(t, result.CPUWeights, all[0].Model)
		require.Equal(t, "detector", all[0].Use)
		require.Equal(t, "MIT", all[0].License)
		require.Regexp(t, `^vqa-worker/`, all[0].Program)
		require.Len(t, all[0].Vocabulary, 80)
		require.Positive(t, *all[0].FramesPerSecond)
		return all
	}
	s := sharedService(t)
	requireDetector(s.tool(t, "models", "--json"))
	table := strings.Split(strings.TrimSpace(string(s.tool(t, "models"))), "\n")
	require.Len(t, table, 2)
	require.Regexp(t, `^ *MODEL +USE +PROGRAM +LICENSE +VOCABULARY +QUALITY +FRAMES/S$`, table[0])
	require.Regexp(t, `^ *`+result.CPUWeights+` +detector +vqa-worker/\S+ +MIT +80 terms +.*\d+\.\d$`, table[1])

	program, err := binary()
	require.NoError(t, err)
	folder := t.TempDir()
	alone := func(url string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), program, "models", "--json")
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "VQA_DATA_DIR="+folder, "VQA_INFERENCE_URL="+url, "VQA_VLM_URL=http://127.0.0.1:1/v1", "VQA_VLM_MODEL=pixtral")
		return cmd.CombinedOutput()
	}
	out, err := alone(newFaulty(t).URL)
	require.NoError(t, err, "%s", out)
	all := requireDetector(out)
	require.Len(t, all, 2)
	require.Equal(t, "pixtral", all[1].Model)
	require.Nil(t, all[1].FramesPerSecond)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left, "no installation was made")

	out, err = alone("http://127.0.0.1:1")
	require.Error(t, err)
	require.Contains(t, string(out), "inference unavailable")
}
