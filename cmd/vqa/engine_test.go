package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/gpu"
	"vqa/gpu/oip"
)

// serving starts a server of the model `detect` with these weights, which finds nothing.
func serving(t *testing.T, weights string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/health/ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/models/detect/ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/models/detect", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "detect", "parameters": map[string]string{"model": weights, "license": weights, "worker": weights}})
	})
	mux.HandleFunc("POST /v2/models/detect/infer", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"outputs":[{"name":"BOXES","datatype":"FP32","shape":[0,4],"data":[]},{"name":"SCORES","datatype":"FP32","shape":[0],"data":[]},
			{"name":"TERM_INDEX","datatype":"INT32","shape":[0],"data":[]},{"name":"FRAME_INDEX","datatype":"INT32","shape":[0],"data":[]},
			{"name":"KNOWN_TERMS","datatype":"BOOL","shape":[1],"data":[true]}]}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestSeveralInferenceServers(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	a, b, other := serving(t, "w1"), serving(t, "w1"), serving(t, "w2")
	const away = "grpc://127.0.0.1:1"
	for name, tt := range map[string]struct {
		urls []string
		want error
	}{
		"of one model":  {[]string{a, " " + b}, nil},
		"of two models": {[]string{a, b, other}, oip.ErrOtherModel},
		"one is away":   {[]string{a, away}, nil},
		"all are away":  {[]string{away}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{}
			err := s.openEngine(t.Context(), config{InferenceURL: tt.urls}, log)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				require.Empty(t, s.closers)
				return
			}
			require.Equal(t, tt.urls[0] == away, s.engine.Ready(t.Context()) != nil)
			for _, closeEngine := range s.closers {
				require.NoError(t, closeEngine())
			}
		})
	}
	err := (&server{}).openEngine(t.Context(), config{InferenceURL: []string{"ftp://x"}}, log)
	require.ErrorContains(t, err, "VQA_INFERENCE_URL")
}

// measuredAs is a file with the calibration of the embedded worker under another name.
func measuredAs(t *testing.T, weights string) []byte {
	t.Helper()
	p := answer.CPU().Parameters
	p.Weights = weights
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	return raw
}

func TestCalibrationFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "calibrations.json")
	none, err := readCalibrations("")
	require.NoError(t, err)
	require.Empty(t, none)
	require.NoError(t, os.WriteFile(path, measuredAs(t, "w1"), 0o600))
	measured, err := readCalibrations(path)
	require.NoError(t, err)
	require.InDelta(t, answer.CPU().CapYes, measured.For("w1", nil).CapYes, 1e-9)
	require.Less(t, measured.For("w2", nil).CapYes, .7, "these weights are not measured")
	s := &server{}
	require.NoError(t, os.WriteFile(path, []byte(`{"weights":"w1"}`), 0o600))
	require.ErrorContains(t, s.openEngine(t.Context(), config{CalibrationFile: path}, slog.New(slog.DiscardHandler)), "VQA_CALIBRATION_FILE")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(" "), maxCalibrationBytes+1), 0o600))
	_, err = readCalibrations(path)
	require.ErrorContains(t, err, "larger")
	_, err = readCalibrations(path + ".gone")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// saying is an engine that returns its information, or fails.
type saying struct {
	gpu.Engine
	info  gpu.Info
	err   error
	asked int
}

// Info implements gpu.Engine.
func (s *saying) Info(context.Context) (gpu.Info, error) {
	s.asked++
	return s.info, s.err
}

func TestWordsOfTheModelOutliveItsServer(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	engine := &saying{err: &gpu.UnavailableError{Err: errors.New("starting")}}
	words := &engineTerms{engine: engine, now: func() time.Time { return now }}
	_, ok := words.known(t.Context())
	require.False(t, ok, "the engine has not answered yet")

	now = now.Add(vocabularyRetry)
	engine.err, engine.info.Vocabulary = nil, []string{"dog"}
	terms, ok := words.known(t.Context())
	require.True(t, ok)
	require.Equal(t, []string{"dog"}, terms)
	before := engine.asked
	_, _ = words.known(t.Context())
	require.Equal(t, before, engine.asked, "asked once a minute")

	now = now.Add(vocabularyFor)
	engine.err = &gpu.UnavailableError{Err: errors.New("away")}
	terms, ok = words.known(t.Context())
	require.True(t, ok)
	require.Equal(t, []string{"dog"}, terms)

	now = now.Add(vocabularyRetry)
	engine.err, engine.info.Vocabulary = nil, nil
	terms, ok = words.known(t.Context())
	require.True(t, ok)
	require.Empty(t, terms, "a model that accepts any term replaced it")
}

// TestTheCatalogSaysWhatTheModelDoes: a client that trusts the capabilities must find all of them.
func TestTheCatalogSaysWhatTheModelDoes(t *testing.T) {
	t.Parallel()
	m := catalog(config{})[0]
	require.True(t, m.Default)
	c := m.Capabilities
	require.True(t, c.Analyses && c.Streams && c.Narrative && c.Counting, "%+v", c)
}
