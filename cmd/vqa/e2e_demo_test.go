package main_test

import (
	"encoding/json"
	"image/jpeg"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/account"
	result "vqa/domain/answer"
	"vqa/handlers/intake/demo"
)

// demoPatience covers adding three clips and answering three questions about each, on cores that
// other tests use as well.
const demoPatience = 5 * time.Minute

// TestDemoVideos checks the demo videos from the first start to the answers of the real engine, and
// after a restart.
func TestDemoVideos(t *testing.T) {
	t.Parallel()
	s := ownService(t, "VQA_DEMO=true")
	c := &apiClient{service: s}
	var shown answer
	complete := func() bool {
		shown = c.call(t, http.MethodGet, "/v1/demo-videos", nil)
		require.Equal(t, http.StatusOK, shown.status, "%s", shown.raw)
		return strings.Count(string(shown.raw), `"computed_at"`) == 9
	}
	require.True(t, pollEvery(250*time.Millisecond, demoPatience, complete), "%s", shown.raw)

	t.Run("as the quickstart shows", func(t *testing.T) {
		needPrograms(t, "bash", "curl", "jq")
		s.console(t, t.TempDir(), steps(listingsFor(t, "docs/quickstart.md", "TestDemoVideos")))
	})
	answers := map[string]map[string]string{}
	for _, v := range shown.at("videos").([]any) {
		entry := v.(map[string]any)
		name := entry["display_name"].(string)
		answers[name] = map[string]string{}
		for prompt, r := range entry["results_by_prompt"].(map[string]any) {
			result := r.(map[string]any)
			answers[name][prompt] = result["answer"].(string)
			require.GreaterOrEqual(t, result["confidence"], 0.4, "%s: the answer is not unreliable", prompt)
			require.Equal(t, "video/mp4", c.head(t, result["video_url"].(string)).Get("Content-Type"))
		}
		thumbnail := c.get(t, entry["thumbnail_url"].(string))
		picture, err := jpeg.DecodeConfig(thumbnail.Body)
		require.NoError(t, err)
		require.NoError(t, thumbnail.Body.Close())
		require.Equal(t, 640, picture.Width)
	}
	want := map[string]map[string]string{
		"Stop signs along a street": {
			"Is there a stop sign?": "yes", "How many stop signs are there?": "yes", "Is there a dog?": "no",
		},
		"A ball bounces across a tennis court": {
			"Is there a ball?": "yes", "How many balls are there?": "yes", "Are there no people?": "yes",
		},
		"Kites and a boat at the shore": {
			"How many kites are there?": "yes", "Is there a boat?": "yes", "Are there more than five kites?": "no",
		},
	}
	if diff := cmp.Diff(want, answers); diff != "" {
		t.Errorf("answers about the demo videos (-want +got):\n%s", diff)
	}

	checkDemoLog(t, s)
	s.tool(t, "ledger", "verify")
	s.tool(t, "projections", "verify", "--all")
	require.NoError(t, s.terminate())
	drawn := strings.Count(s.said.String(), "demo video added")
	require.Equal(t, 3, drawn)
	require.NoError(t, s.start())
	before := shown.raw
	require.True(t, complete())
	require.Equal(t, string(before), string(shown.raw), "a restart computes nothing again")
	require.Equal(t, drawn, strings.Count(s.said.String(), "demo video added"))
	require.NotContains(t, s.said.String(), "not complete", "nothing had to be retried")
}

// checkDemoLog checks what the API does not show: the counts, that each thumbnail shows its subject,
// and that no credits moved.
func checkDemoLog(t *testing.T, s *service) {
	t.Helper()
	thumbnails, counts := map[string]float64{}, map[string]int{}
	for _, scene := range demo.Scenes() {
		thumbnails[scene.Prompts[0]] = scene.ThumbnailS
	}
	asked := map[string]string{}
	for line := range strings.Lines(string(s.tool(t, "events", "list", "--json", "--limit", "10000", "--account", account.SystemID))) {
		var e struct {
			Type string `json:"type"`
			Data struct {
				AnalysisID string        `json:"analysis_id"`
				Prompt     string        `json:"prompt"`
				Origin     string        `json:"origin"`
				Usage      *struct{}     `json:"usage"`
				Result     result.Result `json:"result"`
			} `json:"data"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e), "%s", line)
		require.False(t, strings.HasPrefix(e.Type, "credit."), "%s", line)
		switch name, _, _ := strings.Cut(e.Type, "@"); name {
		case "analysis.created":
			require.Equal(t, "system", e.Data.Origin)
			asked[e.Data.AnalysisID] = e.Data.Prompt
		case "analysis.completed":
			prompt, result := asked[e.Data.AnalysisID], e.Data.Result
			require.Nil(t, e.Data.Usage, "%s", line)
			if n := result.DetectedCount; n != nil {
				counts[prompt] = *n
			}
			if at, ok := thumbnails[prompt]; ok && len(result.Clips) > 0 {
				require.Greater(t, at, result.Clips[0].StartS, prompt)
				require.Less(t, at, result.Clips[0].EndS, prompt)
			}
		}
	}
	require.Len(t, asked, 9)
	require.Equal(t, map[string]int{
		"How many stop signs are there?": 2, "How many balls are there?": 1, "How many kites are there?": 3, "Are there more than five kites?": 3,
	}, counts)
}

// get fetches a URL from an answer.
func (c *apiClient) get(t *testing.T, address string) *http.Response {
	t.Helper()
	return c.fetch(t, http.MethodGet, address)
}

func (c *apiClient) head(t *testing.T, address string) http.Header {
	t.Helper()
	resp := c.fetch(t, http.MethodHead, address)
	require.NoError(t, resp.Body.Close())
	return resp.Header
}

func (c *apiClient) fetch(t *testing.T, method, address string) *http.Response {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	require.Equal(t, c.addr, u.Host)
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return resp
}
