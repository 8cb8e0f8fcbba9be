package main_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"image"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// site is a TLS server on loopback from which the service may fetch videos.
type site struct {
	*httptest.Server
	caFile string
	// arrived gets a signal when a fetch starts; closing resume sends the rest.
	arrived chan struct{}
	resume  chan struct{}
}

func newSite() (*site, error) {
	s := &site{arrived: make(chan struct{}, 8), resume: make(chan struct{})}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.serveSlowly))
	file, err := os.CreateTemp(workshop, "ca-*.pem")
	if err != nil {
		return nil, err
	}
	s.caFile = file.Name()
	err = pem.Encode(file, &pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s, errors.Join(err, file.Close())
}

// serveSlowly sends the second half of signsClip after a signal.
func (s *site) serveSlowly(w http.ResponseWriter, r *http.Request) {
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
	_, _ = w.Write(data[:len(data)/2])
	_ = http.NewResponseController(w).Flush()
	s.arrived <- struct{}{}
	select {
	case <-s.resume:
		_, _ = w.Write(data[len(data)/2:])
	case <-r.Context().Done():
	case <-time.After(time.Minute):
	}
}

// settings allow a service to fetch from the site.
func (s *site) settings() []string {
	return []string{"VQA_EGRESS_ALLOW=" + s.Listener.Addr().String(), "VQA_EGRESS_CA_FILE=" + s.caFile}
}
