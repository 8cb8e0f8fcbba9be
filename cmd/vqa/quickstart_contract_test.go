package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// quickstart runs the listings of docs/quickstart.md in each of their languages, as somebody
// who copies them does: nothing is changed but the address. client is the folder of the
// TypeScript client.
func (s *service) quickstart(t *testing.T, client string) {
	text, err := os.ReadFile(filepath.Join(root, "docs/quickstart.md"))
	require.NoError(t, err)
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(sh|ts|python)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] += strings.ReplaceAll(m[2], "http://127.0.0.1:8080", "http://"+s.addr)
	}
	require.Len(t, blocks, 3)
	data := clipBytes(t, briefClip)
	// desk puts a listing into a folder, beside the clip.
	desk := func(t *testing.T, folder, name, listing string) string {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "clip.mp4"), data, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(listing), 0o600))
		return folder
	}
	t.Run("curl", func(t *testing.T) {
		s.saysWhatHappened(t, runProgram(t, desk(t, t.TempDir(), "quickstart.sh", blocks["sh"]), nil, "sh", "-eu", "quickstart.sh"))
	})
	t.Run("TypeScript", func(t *testing.T) {
		// Inside of the client's folder its own name leads to it.
		folder := desk(t, filepath.Join(client, "dist"), "quickstart.ts", blocks["ts"])
		project := `{"extends": "../tsconfig.json", "compilerOptions": {"rootDir": ".", "outDir": "out"}, "include": ["quickstart.ts"]}`
		require.NoError(t, os.WriteFile(filepath.Join(folder, "tsconfig.json"), []byte(project), 0o600))
		runProgram(t, folder, nil, "../node_modules/.bin/tsc", "--project", ".")
		s.saysWhatHappened(t, runProgram(t, folder, nil, "node", "out/quickstart.js"))
	})
	t.Run("Python", func(t *testing.T) {
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip("python3 is not installed; setup tries to install it")
		}
		s.saysWhatHappened(t, runProgram(t, desk(t, t.TempDir(), "quickstart.py", blocks["python"]), nil, "python3", "quickstart.py"))
	})
}

// saysWhatHappened holds what a listing prints against what must have happened; the three
// differ in quotes only.
func (s *service) saysWhatHappened(t *testing.T, printed string) {
	t.Helper()
	printed = strings.NewReplacer(`"balance_seconds":`, "", `"type":`, "", `"`, "").Replace(printed)
	require.Equal(t, `fixture: yes
video: ready
clip: yes
credits: 5998
events: analysis.completed video.ready
`, printed)
}
