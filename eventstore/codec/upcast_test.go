package codec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/video"
	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// TestFirstShapesKeepTheirMeaning reads the golden payloads of superseded versions.
func TestFirstShapesKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	at := func(micros int) time.Time { return time.Date(2026, 2, 3, 4, 5, 6, micros*1000, time.UTC) }
	for stored, want := range map[string]eventstore.Event{
		"credit.held": credit.Held{
			AccountID: "AccountID value", HoldID: "HoldID value", Seconds: 3, SourceType: "SourceType value",
			SourceID: "SourceID value", DiscountPct: 6, ExpiresAt: at(49).Add(24 * time.Hour), At: at(49),
		},
		"credit.released": credit.Released{
			AccountID: "AccountID value", HoldID: "HoldID value", SourceType: "SourceType value", SourceID: "SourceID value",
			Seconds: 5, Reason: credit.ByCommand, At: at(42),
		},
		"video.ready": video.Ready{
			VideoID: "VideoID value", At: at(21), File: video.File{
				ObjectKey: "ObjectKey value", ContentType: "ContentType value", SizeBytes: 4, ClaimedMicros: new(int64(5)),
				DurationMicros: new(int64(5)), Width: new(6), Height: new(7), FPS: new(7.5),
			},
		},
	} {
		data, err := os.ReadFile(filepath.Join(goldenDir, stored+".json"))
		require.NoError(t, err)
		got, err := codec.Events().Unmarshal(stored, data)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, got), strings.TrimSpace(string(data)))
	}
}

func TestUpcastersRefuse(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`null`, `[]`, `{}`, `{"at":1}`, `{"at":"2026-02-03T04:05:06Z","expires_at":"2026-02-03T04:05:06Z"}`,
	} {
		_, err := codec.Events().Unmarshal("credit.held", []byte(data))
		require.Error(t, err, data)
	}
	_, err := codec.Events().Unmarshal("credit.released", []byte(`{"reason":"gone"}`))
	require.Error(t, err)
	for _, data := range []string{`null`, `[]`, `{"file":{"duration_micros":1,"claimed_micros":1}}`} {
		_, err := codec.Events().Unmarshal("video.ready", []byte(data))
		require.Error(t, err, data)
	}
}
