package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnnouncedServer checks that only a running server is found through its data folder.
func TestAnnouncedServer(t *testing.T) {
	t.Parallel()
	c := config{DataDir: t.TempDir(), LLMAPIKey: "sk-hunter2", LogLevel: "debug"}
	running := func() string { r, _ := serverOf(c.DataDir); return r.URL }
	require.Empty(t, running())
	end, err := announce(c, "http://127.0.0.1:9")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:9", running())
	require.Equal(t, "http://127.0.0.1:9", running(), "reading does not take the lock")
	r, ok := serverOf(c.DataDir)
	require.True(t, ok)
	require.Equal(t, []string{"debug", "xxxxx"}, []string{r.Settings["VQA_LOG_LEVEL"], r.Settings["VQA_LLM_API_KEY"]})
	second, err := announce(c, "http://127.0.0.1:10")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:9", running(), "the first server announces itself")
	require.NoError(t, second())
	require.Equal(t, "http://127.0.0.1:9", running())
	require.NoError(t, end())
	require.Empty(t, running())
	// The file of a killed server.
	require.NoError(t, os.WriteFile(filepath.Join(c.DataDir, runningFile), []byte(`{"url":"http://127.0.0.1:9","pid":1}`), 0o600))
	require.Empty(t, running())
	end, err = announce(c, "http://127.0.0.1:11")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:11", running())
	require.NoError(t, end())
}

// TestServerIsFoundFromAnyFolder runs servers of one user and looks for them from an empty folder.
func TestServerIsFoundFromAnyFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("VQA_DATA_DIR", "")
	t.Chdir(t.TempDir())
	here, err := filepath.Abs(".vqa")
	require.NoError(t, err)
	located := func(at string) (dir, notices string, err error) {
		var said buffer
		c, err := locatedConfig(at, &said)
		if err == nil {
			err = c.checkData(&said)
		}
		return c.DataDir, said.String(), err
	}
	installation := func() config {
		c := config{DataDir: t.TempDir()}
		require.NoError(t, os.WriteFile(filepath.Join(c.DataDir, secretKeyFile), nil, 0o600))
		require.NoError(t, rememberDataDir(c.DataDir))
		return c
	}

	dir, notices, err := located("")
	require.NoError(t, err)
	require.Equal(t, here, dir)
	require.Equal(t, "no service of yours is running: creating a data folder in "+here+"\n", notices)

	one := installation()
	_, notices, err = located("")
	require.NoError(t, err)
	require.Contains(t, notices, "creating a data folder in "+here)
	require.Contains(t, notices, "VQA_DATA_DIR="+one.DataDir, "how to reach the data of a service that has stopped")

	end, err := announce(one, "http://127.0.0.1:9")
	require.NoError(t, err)
	dir, notices, err = located("")
	require.NoError(t, err)
	require.Equal(t, one.DataDir, dir)
	require.Equal(t, "using the service at http://127.0.0.1:9 (data in "+one.DataDir+")\n", notices)

	two := installation()
	two.DatabaseURL = "postgres://vqa:hunter2@db/vqa"
	endTwo, err := announce(two, "http://127.0.0.1:10")
	require.NoError(t, err)
	_, _, err = located("")
	require.ErrorContains(t, err, "VQA_DATA_DIR="+one.DataDir+"  for http://127.0.0.1:9\n")
	require.ErrorContains(t, err, "VQA_DATA_DIR="+two.DataDir+"  for http://127.0.0.1:10")
	dir, _, err = located("http://127.0.0.1:9/")
	require.NoError(t, err)
	require.Equal(t, one.DataDir, dir)
	_, _, err = located("http://127.0.0.1:10")
	require.EqualError(t, err, "the service at http://127.0.0.1:10 uses the database postgres://vqa:xxxxx@db/vqa: set VQA_DATABASE_URL to it")
	require.NoError(t, endTwo())

	t.Setenv("VQA_DATA_DIR", two.DataDir)
	dir, notices, err = located("")
	require.NoError(t, err)
	require.Equal(t, []string{two.DataDir, ""}, []string{dir, notices}, "the folder that the user names comes first")
	t.Setenv("VQA_DATA_DIR", "")
	require.NoError(t, os.MkdirAll(here, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(here, secretKeyFile), nil, 0o600))
	dir, _, err = located("")
	require.NoError(t, err)
	require.Equal(t, here, dir, "then the data of this folder")
	require.NoError(t, end())
	require.NoError(t, os.RemoveAll(two.DataDir))
	require.NoError(t, rememberDataDir(here))
	require.ElementsMatch(t, []string{one.DataDir, here}, knownDataDirs(), "a folder that is gone is forgotten")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(one.DataDir, 1, -1))
		require.Equal(t, []string{here}, knownDataDirs(), "another user's folder is not used")
	}
}
