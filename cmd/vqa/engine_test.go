package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/gpu/oip"
)

// serving is a server of the model `detect` with some weights.
func serving(t *testing.T, weights string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/health/ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/models/detect/ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v2/models/detect", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"name":"detect","parameters":{"model":%q}}`, weights)
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
