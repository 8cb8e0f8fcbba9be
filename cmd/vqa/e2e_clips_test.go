package main_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/gpu/fixture"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

// The clips are drawn, so their contents are known.
const (
	clipFPS = 2
	// signsClip is empty for 2 s, then shows two stop signs for 3 s, then is empty for
	// 1.5 s.
	signsClipS = 6.5
	// longClip shows a stop sign for 12 s, which takes the worker some seconds.
	longClipS = 12
)

var signsClip = sync.OnceValues(func() (string, error) {
	pictures := repeat(fixture.Empty(), 4)
	pictures = append(pictures, repeat(fixture.StopSign(image.Pt(140, 110), image.Pt(370, 110)), 6)...)
	return render("signs.mp4", append(pictures, repeat(fixture.Empty(), 3)...))
})

var longClip = sync.OnceValues(func() (string, error) {
	return render("long.mp4", repeat(fixture.StopSign(image.Pt(250, 110)), longClipS*clipFPS))
})

// briefClip shows a stop sign for 2 s. It is the shortest clip with an answer yes.
var briefClip = sync.OnceValues(func() (string, error) {
	return render("brief.mp4", repeat(fixture.StopSign(image.Pt(250, 110)), 2*clipFPS))
})

func repeat(picture *image.RGBA, n int) []*image.RGBA {
	all := make([]*image.RGBA, n)
	for i := range all {
		all[i] = picture
	}
	return all
}

func render(name string, pictures []*image.RGBA) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	path := filepath.Join(workshop, name)
	return path, ffmpegtest.WriteClip(ctx, path, clipFPS, pictures)
}

func clip(t testing.TB, rendered func() (string, error)) string {
	t.Helper()
	path, err := rendered()
	require.NoError(t, err)
	return path
}

func clipBytes(t testing.TB, rendered func() (string, error)) []byte {
	t.Helper()
	data, err := os.ReadFile(clip(t, rendered))
	require.NoError(t, err)
	return data
}

// unindexed is a clip with its index at the end, so that a truncated copy has none.
func unindexed(t testing.TB) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeout)
	defer cancel()
	path := filepath.Join(t.TempDir(), "unindexed.mp4")
	out, err := exec.CommandContext(ctx, "ffmpeg", "-v", "error", "-i", clip(t, signsClip), "-c", "copy", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// site is a TLS server on loopback from which the service may fetch videos.
type site struct {
	*httptest.Server
	caFile string
	// arrived gets a signal when a slow fetch starts; closing resume sends the rest.
	arrived chan struct{}
	resume  chan struct{}
}

func newSite() (*site, error) {
	s := &site{arrived: make(chan struct{}, 8), resume: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/clip.mp4", func(w http.ResponseWriter, r *http.Request) { s.serveClip(w, r, false) })
	mux.HandleFunc("/slow.mp4", func(w http.ResponseWriter, r *http.Request) { s.serveClip(w, r, true) })
	mux.HandleFunc("/cut.mp4", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, "the rest is missing")
	})
	mux.HandleFunc("/huge.mp4", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.FormatInt(2147483648+1, 10))
		w.WriteHeader(http.StatusOK)
	})
	mux.HandleFunc("/text.mp4", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "this is not a video") })
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	s.Server = httptest.NewTLSServer(mux)
	file, err := os.CreateTemp(workshop, "ca-*.pem")
	if err != nil {
		return nil, err
	}
	s.caFile = file.Name()
	err = pem.Encode(file, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s, errors.Join(err, file.Close())
}

func (s *site) serveClip(w http.ResponseWriter, r *http.Request, slow bool) {
	path, err := signsClip()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if slow {
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		s.arrived <- struct{}{}
		select {
		case <-s.resume:
		case <-r.Context().Done():
			return
		case <-time.After(time.Minute):
			return
		}
		data = data[len(data)/2:]
	}
	_, _ = w.Write(data)
}

// settings allow a service to fetch from the site.
func (s *site) settings() []string {
	return []string{"VQA_EGRESS_ALLOW=" + s.Listener.Addr().String(), "VQA_EGRESS_CA_FILE=" + s.caFile}
}
