package main_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The documents with commands and their output. A test runs each of their listings unchanged, except
// that the address of the test's service replaces documentedAddress. A listing that no test can run
// has this line before it, with the reason:
//
//	*Not run by a test: …*
var shownDocuments = []string{"README.md", "docs/quickstart.md", "docs/operations.md", "docs/contributing.md", "docs/webhooks.md"}

// documentedAddress is the address of the service in the documents.
const documentedAddress = "127.0.0.1:8080"

// runnable are the languages of listings that are run.
var runnable = []string{"console", "sh", "bash", "ts", "python", "go"}

// runs names the test that runs a listing. The text has identifies the listing in its document.
var runs = []struct{ document, has, test string }{
	{"README.md", "$ make run\n", "TestReadmeTour"},
	{"README.md", "$ bin/vqa ask clip.mp4", "TestReadmeTour"},
	{"README.md", "$ TEST_KEY=", "TestReadmeTour"},
	{"README.md", "$ bin/vqa ledger verify\n", "TestReadmeTour"},
	{"docs/quickstart.md", "$ curl -s -X POST http://127.0.0.1:8080/v1/sandbox | jq\n", "TestReadmeTour"},
	{"docs/quickstart.md", "jq .result.receipt", "TestReadmeTour"},
	{"docs/quickstart.md", "\"content_typ\":", "TestReadmeTour"},
	{"docs/quickstart.md", "jq -c '.available_seconds", "TestReadmeTour"},
	{"docs/quickstart.md", "/events/stream", "TestReadmeTour"},
	{"docs/quickstart.md", "/v1/demo-videos", "TestDemoVideos"},
	{"docs/operations.md", "$ bin/vqa doctor\n", "TestReadmeTour"},
	{"docs/operations.md", "$ bin/vqa keys list\n", "TestReadmeTour"},
	{"docs/operations.md", "$ bin/vqa projections verify --all\n", "TestReadmeTour"},
	{"docs/operations.md", "$ bin/vqa signin\n", "TestReadmeTour"},
	{"docs/contributing.md", "$ make\n", "TestContributingShowsTheTargets"},
	{"docs/quickstart.md", "$ ffmpeg", "TestNewUser"},
	{"docs/quickstart.md", "SANDBOX=$(curl", "TestNewUser"},
	{"docs/quickstart.md", "KEY=$(curl", "TestNewUser"},
	{"docs/quickstart.md", "echo \"events:\"", "TestNewUser"},
	{"docs/quickstart.md", "npm run build", "TestNewUser"},
	{"docs/quickstart.md", "import { createClient", "TestNewUser"},
	{"docs/quickstart.md", "node dist/quickstart.js", "TestNewUser"},
	{"docs/quickstart.md", "import urllib.request", "TestNewUser"},
	{"docs/webhooks.md", "standardwebhooks.NewWebhook(", "TestWebhookRecipes"},
	{"docs/webhooks.md", "from standardwebhooks import", "TestWebhookRecipes"},
	{"docs/webhooks.md", `from "standardwebhooks"`, "TestWebhookRecipes"},
	{"docs/webhooks.md", "crypto/hmac", "TestWebhookRecipes"},
	{"docs/webhooks.md", "import hmac", "TestWebhookRecipes"},
	{"docs/webhooks.md", "createHmac,", "TestWebhookRecipes"},
}

// listing is a fenced block of a document.
type listing struct {
	document string
	// line is the line of the opening fence.
	line              int
	section, language string
	text              string
	// untested is the reason why no test runs it, or empty.
	untested string
}

// String returns the place of a listing.
func (l listing) String() string { return fmt.Sprintf("%s:%d (%s)", l.document, l.line, l.language) }

// notRun matches the line before a listing that no test runs.
var notRun = regexp.MustCompile(`^\*Not run by a test: (.+)\*$`)

// listingsOf reads the runnable listings of a document.
func listingsOf(t *testing.T, document string) []listing {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, document))
	require.NoError(t, err)
	var all []listing
	var open *listing
	section, before := "", ""
	for i, line := range strings.Split(string(text), "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &listing{document: document, line: i + 1, section: section, language: language}
			if m := notRun.FindStringSubmatch(before); m != nil {
				open.untested = m[1]
			}
		case fence:
			if slices.Contains(runnable, open.language) {
				all = append(all, *open)
			}
			open = nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(line, "# ")
		}
		if strings.TrimSpace(line) != "" {
			before = line
		}
	}
	require.Nil(t, open, "%s ends within a listing", document)
	return all
}

// TestEveryListingIsRunOrMarked checks that a test runs each listing, or that the document says why
// not.
func TestEveryListingIsRunOrMarked(t *testing.T) {
	t.Parallel()
	used := map[int]bool{}
	for _, document := range shownDocuments {
		for _, l := range listingsOf(t, document) {
			var tests []string
			for i, r := range runs {
				if r.document == document && strings.Contains(l.text, r.has) {
					tests, used[i] = append(tests, r.test), true
				}
			}
			switch {
			case l.untested != "" && len(tests) > 0:
				t.Errorf("%v is marked as not run, but %v runs it", l, tests)
			case l.untested == "" && len(tests) == 0:
				t.Errorf("no test runs %v, and the document does not say why", l)
			case len(slices.Compact(tests)) > 1:
				t.Errorf("%v is run by %v: its text in runs is not unique", l, tests)
			}
		}
	}
	for i, r := range runs {
		if !used[i] {
			t.Errorf("no listing of %s has %q", r.document, r.has)
		}
	}
}

// listingsFor returns the listings that a test must run, in the order of the document.
func listingsFor(t *testing.T, document, test string) []listing {
	t.Helper()
	var mine []listing
	for _, l := range listingsOf(t, document) {
		if slices.ContainsFunc(runs, func(r struct{ document, has, test string }) bool {
			return r.document == document && r.test == test && strings.Contains(l.text, r.has)
		}) {
			mine = append(mine, l)
		}
	}
	require.NotEmpty(t, mine)
	return mine
}

// step is a command of a console listing with its output.
type step struct {
	of      listing
	command string
	want    []string
}

// steps reads the commands of console listings: lines after "$ ", which a backslash continues.
func steps(listings []listing) []step {
	var all []step
	for _, l := range listings {
		continued := false
		for line := range strings.Lines(l.text) {
			line = strings.TrimSuffix(line, "\n")
			command, begins := strings.CutPrefix(line, "$ ")
			last := len(all) - 1
			switch {
			case continued:
				all[last].command += "\n" + line
			case begins:
				all = append(all, step{of: l, command: command})
			case last >= 0 && all[last].of == l:
				all[last].want = append(all[last].want, line)
			}
			continued = (begins || continued) && strings.HasSuffix(line, `\`)
		}
	}
	return all
}

// consoleTimeout bounds a session, which asks the real engine several times.
const consoleTimeout = 5 * time.Minute

// console runs the steps in one shell in a folder and compares the output of each with the document.
func (s *service) console(t *testing.T, folder string, all []step) {
	t.Helper()
	var script strings.Builder
	script.WriteString("exec 2>&1\n")
	for _, step := range all {
		fmt.Fprintf(&script, "printf '\\n@@@\\n'\n%s\n", strings.ReplaceAll(step.command, documentedAddress, s.addr))
	}
	ctx, cancel := context.WithTimeout(t.Context(), consoleTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir, cmd.Env, cmd.WaitDelay = folder, append(s.env, "COLUMNS=80"), time.Second
	out, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "%s", out)
	printed := strings.Split(string(out), "\n@@@\n")[1:]
	require.Len(t, printed, len(all), "%v: %s", err, out)
	for i, step := range all {
		if complaint := differs(step.want, strings.ReplaceAll(printed[i], s.addr, documentedAddress)); complaint != "" {
			t.Errorf("%v is wrong about the output of\n$ %s\n%s\nThe output is:\n%s", step.of, step.command, complaint, printed[i])
		}
	}
}

// The parts of an output that differ between runs: ids and secrets, numbers, and the timeline.
var (
	varyingID = regexp.MustCompile(`\bsvc_[a-z]+_[0-9A-Za-z_-]+…?|_[0-9A-Z]{26}\b|_[0-9A-Za-z]+…|sha256:[0-9a-f]+…?|\b[0-9a-f]{32}\b|` +
		`(January|February|March|April|May|June|July|August|September|October|November|December) `)
	varyingNumber = regexp.MustCompile(`[0-9]+([.,:][0-9]+)*`)
	timelineCells = regexp.MustCompile(`[░█]+`)
	// progressLine matches the lines that replace a progress bar when the output is not a terminal.
	progressLine = regexp.MustCompile(`^(uploading|fetching|queued|preparing|analyzing|rendering|waiting|narrating|verifying|folding|comparing|exporting)\b`)
)

// sameShape removes the parts that differ between runs. It keeps the words and their order.
func sameShape(line string) string {
	line = varyingID.ReplaceAllString(line, "… ")
	line = timelineCells.ReplaceAllString(varyingNumber.ReplaceAllString(line, "#"), "▒")
	return strings.Join(strings.Fields(line), " ")
}

// differs describes the first difference between the output and the document, or returns "". In the
// document, "…" stands for any text, and a line with only "…" for any lines.
func differs(want []string, printed string) string {
	var got []string
	for line := range strings.Lines(printed) {
		if line = sameShape(line); line != "" && !progressLine.MatchString(line) {
			got = append(got, line)
		}
	}
	var shown []string
	for _, line := range want {
		if sameShape(line) != "" {
			shown = append(shown, line)
		}
	}
	// deepest is the largest number of document lines that were found.
	deepest := 0
	var matches func(n int, got []string) bool
	matches = func(n int, got []string) bool {
		if deepest = max(deepest, n); n == len(shown) {
			return len(got) == 0
		}
		shape := sameShape(shown[n])
		if shape == "…" {
			for skipped := range len(got) + 1 {
				if matches(n+1, got[skipped:]) {
					return true
				}
			}
			return false
		}
		return len(got) > 0 && shapePattern(shape).MatchString(got[0]) && matches(n+1, got[1:])
	}
	switch {
	case matches(0, got):
		return ""
	case deepest == len(shown):
		return "The output has more lines than the document."
	}
	return fmt.Sprintf("The output has no line for %q.", shown[deepest])
}

// shapePattern matches the lines of output that fit a line of the document.
func shapePattern(shape string) *regexp.Regexp {
	parts := strings.Split(shape, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

// checkout creates a folder that looks like the repository to a reader of the documents: it contains
// the program, and copies of the folders into which the listings write.
func checkout(t *testing.T) string {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	folder, err := os.MkdirTemp(workshop, "checkout-") //nolint:usetesting // Postgres, another user, must be able to enter the folder
	require.NoError(t, err)
	require.NoError(t, os.Chmod(folder, 0o755))
	link := func(from, to string) {
		from, err := filepath.Abs(from)
		require.NoError(t, err)
		to = filepath.Join(folder, to)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.Symlink(from, to))
	}
	link(path, "bin/vqa")
	link(filepath.Join(root, "gpu"), "gpu")
	const client = "handlers/httpapi/clients/typescript"
	for _, name := range []string{"src", "test", "node_modules", "package.json", "package-lock.json", "tsconfig.json"} {
		if name == "node_modules" {
			link(filepath.Join(root, client, name), filepath.Join(client, name))
			continue
		}
		to := filepath.Join(folder, client, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		out, err := exec.CommandContext(t.Context(), "cp", "-r", filepath.Join(root, client, name), to).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return folder
}

// needPrograms skips a test when a program of the listings is not installed.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed, and the listings use it", name)
		}
	}
}

// TestReadmeTour runs the listings of the README, and then the listings of the quickstart and of
// operations.md that continue in the same shell.
func TestReadmeTour(t *testing.T) {
	t.Parallel()
	needPrograms(t, "bash", "curl", "jq", "ffmpeg", "python3")
	folder := checkout(t)
	s := ownServiceLater(t, embeddedWorker, "VQA_DATA_DIR="+filepath.Join(folder, ".vqa"))
	s.flags = []string{"--signin"} // as make run
	require.NoError(t, s.start())
	var tour []listing
	for _, document := range []string{"README.md", "docs/quickstart.md", "docs/operations.md"} {
		tour = append(tour, listingsFor(t, document, "TestReadmeTour")...)
	}
	typed := slices.DeleteFunc(steps(tour), func(x step) bool {
		if x.command != "make run" {
			return false
		}
		// The service already runs. make would only build it first.
		for _, line := range x.want[1:] {
			require.True(t, poll(time.Minute, func() bool {
				return differs([]string{"…", line, "…"}, strings.ReplaceAll(s.said.String(), s.addr, documentedAddress)) == ""
			}), "%s: %s", line, s.said)
		}
		return true
	})
	s.console(t, folder, typed)
}

// TestContributingShowsTheTargets compares the list of targets with the output of make.
func TestContributingShowsTheTargets(t *testing.T) {
	t.Parallel()
	needPrograms(t, "make")
	shown := steps(listingsFor(t, "docs/contributing.md", "TestContributingShowsTheTargets"))
	require.Len(t, shown, 1)
	require.Empty(t, differs(shown[0].want, runProgram(t, root, nil, "make", "--no-print-directory")))
}

// TestListingsAreCompared checks the comparison: omissions must be marked, and words must be equal.
func TestListingsAreCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want, printed string
		same          bool
	}{
		{"a 12 b", "a 7,5  b\n", true}, {"a b", "a c\n", false}, {"a", "a\nb\n", false}, {"a\nb", "a\n", false},
		{"{\n…\n}", "{\n{\n}\n}\n", true}, {"…\nb\n…", "a\nb\nc\n", true}, {"…\nb", "a\nc\n", false},
		{"an_01M8… of video_01M8…", "an_01M81YSG8RVCY9B9ESAD46FSQD of video_01M81YSFY9X1WNCR41829A4BWN\n", true},
		{"░░██", "░█░\n", true}, {"YES", "uploading 3.0 KiB\n\nYES\n", true}, {"key svc_test_5CSR…", "key svc_test_a-b_c\n", true},
	} {
		require.Equal(t, tt.same, differs(strings.Split(tt.want, "\n"), tt.printed) == "", "%q %q", tt.want, tt.printed)
	}
}
