package onnx_test

import (
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/gpu"
)

// TestFormsBatches sends requests at once: their frames must go to the device together, and each
// client must get the answer to its own frame.
func TestFormsBatches(t *testing.T) {
	t.Parallel()
	url := serve(t, filepath.Join(tiny(t), "yolo.toml"), "--batch", "1,2,8", "--wait-ms", "3000")
	engine := client(t, url)
	const requests = 26
	frames := make([][]byte, requests)
	for i := range frames {
		frames[i] = squares(t, 640, 360, 128, map[image.Point]color.RGBA{image.Pt(80+20*i, 200): red})
	}
	var senders sync.WaitGroup
	for i, frame := range frames {
		senders.Go(func() {
			at := image.Pt(80+20*i, 200)
			resp, err := engine.Detect(t.Context(), gpu.Request{Frames: [][]byte{frame}, Terms: []string{"red square"}})
			if err != nil || len(resp.Frames[0]) != 1 {
				t.Errorf("%v %+v", err, resp)
				return
			}
			box := resp.Frames[0][0].Box
			if middle := (box.X1 + box.X2) / 2 * 640; middle < float64(at.X-20) || middle > float64(at.X+20) {
				t.Errorf("the square at %d is found at %f", at.X, middle)
			}
		})
	}
	senders.Wait()
	require.Equal(t, map[int]int{8: 3, 2: 1}, batches(t, url), "batches by size")
}

// batches asks a server for the number of its batches of each size.
func batches(t *testing.T, url string) map[int]int {
	t.Helper()
	resp, err := http.Get(url + "/v2/models/detect/stats")
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var stats struct {
		Models []struct {
			Batches []struct {
				Size    int `json:"batch_size"`
				Compute struct {
					Count int `json:"count"`
				} `json:"compute_infer"`
			} `json:"batch_stats"`
		} `json:"model_stats"`
	}
	require.NoError(t, json.Unmarshal(raw, &stats), "%s", raw)
	formed := map[int]int{}
	for _, b := range stats.Models[0].Batches {
		formed[b.Size] = b.Compute.Count
	}
	return formed
}

// TestRefusesWhenBusy sends more frames than may wait. The refusals differ from failures, so
// that a pool tries another server.
func TestRefusesWhenBusy(t *testing.T) {
	t.Parallel()
	engine := client(t, serve(t, filepath.Join(tiny(t), "yolo.toml"), "--queue", "8", "--wait-ms", "500", "--batch", "64"))
	req := gpu.Request{Terms: []string{"red square"}}
	for range 6 {
		req.Frames = append(req.Frames, squares(t, 64, 64, 8, nil))
	}
	outcomes := make(chan error, 12)
	for range cap(outcomes) {
		go func() {
			_, err := engine.Detect(t.Context(), req)
			outcomes <- err
		}()
	}
	answered, refused := 0, 0
	for range cap(outcomes) {
		switch err := <-outcomes; {
		case err == nil:
			answered++
		case errors.Is(err, gpu.ErrSaturated):
			refused++
		default:
			t.Error(err)
		}
	}
	require.Positive(t, answered)
	require.Positive(t, refused)
}

// TestForgetsCanceledRequests: the frames of a client that left must not reach the device.
func TestForgetsCanceledRequests(t *testing.T) {
	t.Parallel()
	url := serve(t, filepath.Join(tiny(t), "yolo.toml"), "--wait-ms", "2000", "--batch", "2")
	engine := client(t, url)
	req := gpu.Request{Frames: [][]byte{squares(t, 64, 64, 8, nil)}, Terms: []string{"red square"}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := engine.Detect(ctx, req)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = engine.Detect(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, map[int]int{1: 1}, batches(t, url), "with the canceled frame it would be a batch of 2")
}
