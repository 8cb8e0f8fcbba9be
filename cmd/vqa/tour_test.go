package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tour runs docs/tour.sh and compares its output with the expected one.
func (s *service) tour(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, "docs/tour.sh"))
	require.NoError(t, err)
	printed := runProgram(t, t.TempDir(), nil, "sh", script, "http://"+s.addr)
	// Each step keeps its title, its path and the fields of the response.
	var shown []string
	for line := range strings.Lines(regexp.MustCompile(`video_[0-9A-Z]{26}`).ReplaceAllString(printed, "video_…")) {
		line = strings.TrimSpace(line)
		if words := strings.Fields(line); strings.HasPrefix(line, "$ curl -X") {
			line = strings.Join(words[:5], " ")
		}
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasSuffix(line, " bytes") {
			shown = append(shown, regexp.MustCompile(`(svc_[a-z]+_)\S{4}…`).ReplaceAllString(line, "$1…"))
		}
	}
	require.Equal(t, `$ curl -X POST /v1/sandbox
201  object: sandbox_key  mode: test  api_key: svc_test_…  fixture_prompt: Is there a ball?  expected_answer: yes
$ curl -X POST /v1/analyses
200  status: completed  livemode: false  answer: yes
$ curl -X POST /v1/keys/upgrade
201  object: api_key  tier: free_grant  api_key: svc_live_…  grant_seconds: 6000
$ curl -X POST /v1/videos
201  id: video_…  status: awaiting_upload
$ curl -X PUT --data-binary
$ curl -X POST /v1/videos/video_…/complete
200  status: ready  duration_s: 12  width: 640  height: 480  fps: 25
$ curl -X POST /v1/analyses
200  object: analysis_preview  assessable: true  estimated_seconds: 12  estimated_cost_usd: 0.06
$ curl -X POST /v1/analyses
200  status: completed  livemode: true  answer: yes  start_s: 2.938  end_s: 8.063  billed_seconds: 12  credit_balance_after: 5988
$ curl -X GET /v1/credits
200  balance_seconds: 5988  held_seconds: 0  used_seconds: 12  kind: analysis_debit  seconds_delta: -12
$ curl -X GET /v1/events
analysis.completed
video.ready`, strings.Join(shown, "\n"))
}
