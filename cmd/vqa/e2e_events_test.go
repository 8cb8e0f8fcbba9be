package main_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told is an event as `vqa events` prints it.
type told struct {
	Position int64  `json:"position"`
	Stream   string `json:"stream"`
	Type     string `json:"type"`
}

// log lists the account's events.
func (c *apiClient) log(t testing.TB, args ...string) (events []told) {
	t.Helper()
	args = append([]string{"events", "list", "--json", "--account", c.key.AccountID}, args...)
	for line := range strings.Lines(string(c.tool(t, args...))) {
		var e told
		require.NoError(t, json.Unmarshal([]byte(line), &e), "%s", line)
		events = append(events, e)
	}
	return events
}

// TestWhyAndReplay runs vqa why on an answered question, and replays the log to the service. The
// replay has no effect.
func TestWhyAndReplay(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 100)
	videoID := c.readyVideo(t, clip(t, briefClip))
	a := c.ask(t, videoID, "Is there a stop sign?", "Prefer", "wait=100")
	require.Equal(t, http.StatusOK, a.status, "%s", a.raw)
	analysisID := a.text("id")

	var why string
	require.True(t, poll(toolTimeout, func() bool { // a job ends a moment after its last event
		why = string(c.tool(t, "why", analysisID))
		return strings.Contains(why, "─ analysis.drawn #") && strings.Count(why, "  completed  attempt 1, waited ") == 2
	}), why)
	for _, want := range []string{
		"by " + c.key.KeyID, "─ video.analysis_opened #", "─ credit.held #", "└─ analysis.created #",
		"   └─ job analyze #", "─ analysis.started #", "─ analysis.completed #", "─ video.analysis_closed #",
		"  └─ job draw #", "─ credit.settled #", "held -2, analysis_usage +2; balance 98",
	} {
		require.Contains(t, why, want)
	}
	require.Contains(t, string(c.tool(t, "show", analysisID)), `"status": "completed"`)
	evidence := string(c.tool(t, "why", "--evidence", analysisID))
	for _, want := range []string{"Is there a stop sign?", `"a stop sign" is most probable from `, "so the answer is yes.", "  a stop sign ◀  ", "OBJECT"} {
		require.Contains(t, evidence, want)
	}

	before := c.log(t)
	from, to := before[0].Position, before[len(before)-1].Position
	var replay struct {
		Delivered  int64   `json:"delivered"`
		Events     int64   `json:"events"`
		Failed     int64   `json:"failed"`
		FinishedAt *string `json:"finished_at"`
	}
	out := c.tool(t, "events", "replay", "jobs", "--from", strconv.FormatInt(from, 10), "--to", strconv.FormatInt(to, 10), "--json")
	require.NoError(t, json.Unmarshal(out, &replay), "%s", out)
	require.NotNil(t, replay.FinishedAt)
	require.GreaterOrEqual(t, replay.Events, int64(len(before)), "the range also has events of other accounts")
	require.Equal(t, replay.Events, replay.Delivered)
	require.Zero(t, replay.Failed)
	require.Equal(t, before, c.log(t), "no job ran twice")

	var subscribers struct {
		Processes   int `json:"processes"`
		Subscribers []struct {
			Name     string `json:"name"`
			Position int64  `json:"position"`
		} `json:"subscribers"`
	}
	out = c.tool(t, "events", "subscribers", "--json")
	require.NoError(t, json.Unmarshal(out, &subscribers), "%s", out)
	require.Equal(t, 1, subscribers.Processes)
	require.Equal(t, "jobs", subscribers.Subscribers[0].Name)
	require.GreaterOrEqual(t, subscribers.Subscribers[0].Position, to, "a replay does not change the position")
}

// TestTailFollowsTheLog reads past events, then new ones, and ends on an interrupt.
func TestTailFollowsTheLog(t *testing.T) {
	t.Parallel()
	c := sharedService(t).account(t, 100)
	cmd := exec.CommandContext(t.Context(), c.binary, "events", "tail", "--json", "--from", "1", "--account", c.key.AccountID)
	cmd.Env = c.env
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var said journal
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			lines <- s.Text()
		}
	}()
	next := func() told {
		t.Helper()
		var e told
		select {
		case line := <-lines:
			require.NoError(t, json.Unmarshal([]byte(line), &e), "%s%s", line, &said)
		case <-time.After(toolTimeout):
			t.Fatalf("no event was printed: %s", &said)
		}
		return e
	}
	want := c.log(t)
	for _, e := range want {
		require.Equal(t, e, next())
	}
	c.tool(t, "credits", "purchase", c.key.AccountID, "5", "--reason", "tail", "--idempotency-key", "tail")
	e := next()
	require.Equal(t, []string{"credit.granted", "credit/" + c.key.AccountID}, []string{e.Type, e.Stream})
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for range lines { // until it closes its output
	}
	require.NoError(t, cmd.Wait(), "an interrupt is a normal end: %s", &said)
}
