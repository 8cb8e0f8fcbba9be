package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// quickstart runs the listings of docs/quickstart.md in all languages. It changes only the address of
// the service.
func (s *service) quickstart(t *testing.T) {
	needPrograms(t, "sh", "curl", "ffmpeg")
	folder := checkout(t)
	all := listingsFor(t, "docs/quickstart.md", "TestNewUser")
	// text joins the listings of a section in one language.
	text := func(section, language string) string {
		var joined strings.Builder
		for _, l := range all {
			if l.section == section && l.language == language {
				joined.WriteString(strings.ReplaceAll(l.text, documentedAddress, s.addr))
			}
		}
		require.NotEmpty(t, joined.String(), "%s %s", section, language)
		return joined.String()
	}
	save := func(name, listing string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(listing), 0o600))
	}
	s.console(t, folder, steps(all[:1]))
	require.FileExists(t, filepath.Join(folder, "clip.mp4"))
	t.Run("curl", func(t *testing.T) {
		save("quickstart.sh", text("curl", "sh"))
		s.saysWhatHappened(t, runProgram(t, folder, nil, "sh", "-eu", "quickstart.sh"))
	})
	t.Run("TypeScript", func(t *testing.T) {
		build, run, found := strings.Cut(text("TypeScript", "sh"), "npx tsc")
		require.True(t, found)
		save("handlers/httpapi/clients/typescript/quickstart.ts", text("TypeScript", "ts"))
		out := runProgram(t, folder, nil, "sh", "-eu", "-c", build+"npx tsc"+run)
		s.saysWhatHappened(t, out[strings.Index(out, "fixture:"):])
	})
	t.Run("Python", func(t *testing.T) {
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip("python3 is not installed; setup tries to install it")
		}
		save("quickstart.py", text("Python", "python"))
		s.saysWhatHappened(t, runProgram(t, folder, nil, "python3", "quickstart.py"))
	})
}

// saysWhatHappened compares the output of a listing with the expected one. The outputs of the three
// languages differ only in quotes.
func (s *service) saysWhatHappened(t *testing.T, printed string) {
	t.Helper()
	printed = strings.NewReplacer(`"balance_seconds":`, "", `"type":`, "", `"`, "").Replace(printed)
	require.Equal(t, `fixture: yes
video: ready
clip: yes
credits: 5988
events: analysis.completed video.ready
`, printed)
}
