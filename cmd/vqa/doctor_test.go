package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/cmd/vqa/internal/doctor"
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
