package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/jpeg"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/id"
	"vqa/domain/query"
	"vqa/domain/video"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
	"vqa/handlers/intake/probe"
	"vqa/handlers/objects"
)

func studio(t *testing.T) *Studio {
	t.Helper()
	store, err := objects.Open(t.Context(), objects.Options{
		Dir: t.TempDir(), PublicURL: "http://localhost", SigningKey: bytes.Repeat([]byte{1}, 32), Now: time.Now,
		WriteError: func(http.ResponseWriter, *http.Request, error) {},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return &Studio{Objects: store, Prober: probe.New(ffmpegtest.Runner(t)), FFmpeg: ffmpegtest.Runner(t)}
}

func stored(t *testing.T, s *Studio, key string) []byte {
	t.Helper()
	r, err := s.Objects.Reader(t.Context(), key)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return data
}

func TestMake(t *testing.T) {
	t.Parallel()
	for _, scene := range Scenes() {
		t.Run(scene.Name, func(t *testing.T) {
			t.Parallel()
			s := studio(t)
			f, err := s.Make(t.Context(), scene)
			require.NoError(t, err)
			micros, width, height, rate := int64(scene.durationS)*1e6, Width, Height, float64(fps)
			want := video.File{
				ObjectKey: f.ObjectKey, ContentType: "video/mp4", SizeBytes: int64(len(stored(t, s, f.ObjectKey))),
				DurationMicros: &micros, Width: &width, Height: &height, FPS: &rate,
			}
			if diff := cmp.Diff(want, f); diff != "" {
				t.Errorf("what is recorded of the video (-want +got):\n%s", diff)
			}
			require.Less(t, f.SizeBytes, int64(900_000), "a few hundred kB")
			t.Logf("%s: %d bytes", scene.Name, f.SizeBytes)

			config, err := jpeg.DecodeConfig(bytes.NewReader(stored(t, s, ThumbnailKey(f.ObjectKey))))
			require.NoError(t, err)
			require.Equal(t, [2]int{Width, Height}, [2]int{config.Width, config.Height})

			require.NoError(t, s.Discard(t.Context(), f))
			for _, key := range []string{f.ObjectKey, ThumbnailKey(f.ObjectKey)} {
				_, err = s.Objects.Stat(t.Context(), key)
				require.Error(t, err, "%s was discarded", key)
			}
		})
	}
}

// TestSameBytes: the key carries the hash, so the same again is the same object.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	scene := Scenes()[1]
	first, err := studio(t).Make(t.Context(), scene)
	require.NoError(t, err)
	again, err := studio(t).Make(t.Context(), scene)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// TestThumbnailShowsItsTime: the picture in the JPEG is the one that was painted for
// that time.
func TestThumbnailShowsItsTime(t *testing.T) {
	t.Parallel()
	scene := Scenes()[1]
	dir := t.TempDir()
	clip, thumbnail := filepath.Join(dir, "a.mp4"), filepath.Join(dir, "a.jpg")
	require.NoError(t, scene.Render(t.Context(), ffmpegtest.Runner(t), clip))
	require.NoError(t, Thumbnail(t.Context(), ffmpegtest.Runner(t), clip, thumbnail, scene.ThumbnailS))
	file, err := os.Open(thumbnail)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	shown, err := jpeg.Decode(file)
	require.NoError(t, err)
	picture := scene.painter()
	require.Less(t, difference(shown, picture(scene.ThumbnailS)), 4.0)
	require.Greater(t, difference(shown, picture(0)), 4.0, "the ball is not in the first picture")
}

// difference is the root of the mean squared difference of two pictures, 0 to 255.
func difference(a, b image.Image) float64 {
	var sum, n float64
	for y := range Height {
		for x := range Width {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			for _, d := range [...]float64{float64(r1) - float64(r2), float64(g1) - float64(g2), float64(b1) - float64(b2)} {
				sum += d * d / 257 / 257
				n++
			}
		}
	}
	return math.Sqrt(sum / n)
}

// TestRevisions: whoever changes what is drawn must raise the revision of the scene, so
// that it is drawn, and asked about, anew.
func TestRevisions(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round the last bit of a colour otherwise")
	}
	want := map[string]string{
		"video_01M7XPE6004835VSGREV0MSSD1": "f6393c34d6457c54",
		"video_01M7XPE600DBJ6SBDBAWE2VF5D": "e508492e16481840",
		"video_01M7XPE600GHK2P01GR0WBQBE0": "d8d18656107f679a",
	}
	got := map[string]string{}
	for _, scene := range Scenes() {
		h := sha256.New()
		picture := scene.painter()
		for i := range 4 * scene.durationS {
			h.Write(picture(float64(i) / 4).Pix)
		}
		got[scene.VideoID()] = hex.EncodeToString(h.Sum(nil)[:8])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pictures by the id of the video (-recorded +drawn); raise the revision and record them:\n%s", diff)
	}
}

func TestScenes(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, scene := range Scenes() {
		require.True(t, id.Valid(id.Video, scene.VideoID()))
		ids[scene.VideoID()] = true
		require.NotEmpty(t, scene.DisplayName)
		require.Less(t, scene.ThumbnailS, float64(scene.durationS))
		require.GreaterOrEqual(t, len(scene.Prompts), 3)
		for _, prompt := range scene.Prompts {
			q := query.Compile(prompt)
			require.True(t, query.Assessable(q), "%q is not answered by an engine but refused", prompt)
			_, known := query.COCO().Lookup(q.Subjects[0].Term)
			require.True(t, known, "%q asks for what the model does not know", prompt)
		}
	}
	require.Len(t, ids, len(Scenes()))
}

func TestRenderFails(t *testing.T) {
	t.Parallel()
	err := Scenes()[0].Render(t.Context(), ffmpegtest.Runner(t), filepath.Join(t.TempDir(), "no", "such", "folder.mp4"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// BenchmarkRender is the time for one clip.
func BenchmarkRender(b *testing.B) {
	for _, scene := range Scenes() {
		b.Run(scene.Name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, scene.Render(b.Context(), ffmpegtest.Runner(b), filepath.Join(b.TempDir(), "a.mp4")))
			}
		})
	}
}
