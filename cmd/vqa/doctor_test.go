package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/eventstore/postgres"
	"vqa/eventstore/storetest"
	"vqa/migrations"
)

// TestCheckMedia uses the machine's own ffmpeg, Node and worker.
func TestCheckMedia(t *testing.T) {
	t.Parallel()
	examine := func(c config) func(name string) doctor.Finding {
		x := doctor.Examine(c.installation())
		t.Cleanup(x.Close)
		return func(name string) doctor.Finding {
			for _, check := range doctor.Media {
				if check.Name == name {
					return x.Run(t.Context(), check)
				}
			}
			require.FailNow(t, "no check has this name", name)
			return doctor.Finding{}
		}
	}
	c := config{InferenceThreads: 1, PublicURL: "http://127.0.0.1:1"}
	check := examine(c)
	require.Equal(t, doctor.Warning, check("inference").Verdict, "no frame was extracted yet")
	require.Equal(t, doctor.Warning, check("analysis").Verdict, "no engine was started yet")
	for _, name := range []string{"ffmpeg", "Node", "inference", "analysis"} {
		got := check(name)
		require.Equal(t, doctor.OK, got.Verdict, got.Detail)
		if name == "analysis" {
			require.Contains(t, got.Detail, `"Is there a ball?" about a demo video: yes`)
		}
	}

	elsewhere := c
	elsewhere.WorkerDir = t.TempDir()
	check = examine(elsewhere)
	require.Equal(t, doctor.OK, check("ffmpeg").Verdict)
	got := check("inference")
	require.Equal(t, doctor.Broken, got.Verdict, "nothing is installed there")
	require.Equal(t, "make setup", got.Fix)
	require.Equal(t, doctor.Warning, check("analysis").Verdict)
}

func TestPictureIsAJPEG(t *testing.T) {
	t.Parallel()
	runner, err := config{}.openFFmpeg(t.Context())
	require.NoError(t, err)
	picture, err := extractPicture(context.WithoutCancel(t.Context()), runner)
	require.NoError(t, err)
	require.Equal(t, []byte{0xff, 0xd8}, picture[:2], "a JPEG")
}

func TestCompareInstallation(t *testing.T) {
	t.Parallel()
	url := storetest.Database(t, migrations.Up, migrations.Version())
	c := config{DatabaseURL: url, DataDir: t.TempDir(), PublicURL: "http://127.0.0.1:1"}
	complete, err := c.compareInstallation(t.Context(), url)
	require.NoError(t, err)
	require.False(t, complete, "no node has started")
	require.NoDirExists(t, c.objectsDir(), "the doctor creates nothing")
	require.NoFileExists(t, filepath.Join(c.DataDir, secretKeyFile))

	pool, err := postgres.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	parts, err := openInstallation(t.Context(), &app{config: c, pool: pool, log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, parts.Confirm(t.Context()))
	require.NoError(t, parts.close())
	complete, err = c.compareInstallation(t.Context(), url)
	require.NoError(t, err)
	require.True(t, complete)

	// Another node, whose folder is still empty.
	c.DataDir = t.TempDir()
	_, err = c.compareInstallation(t.Context(), url)
	require.ErrorContains(t, err, "secret.key in VQA_DATA_DIR")
	require.ErrorContains(t, err, "installation/id is missing")
	require.NoDirExists(t, c.objectsDir())
}
