package httpapi_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/handlers/httpapi"
)

// oneCheckpoint has a single checkpoint.
type oneCheckpoint struct{ signed []byte }

func (o *oneCheckpoint) NewestCheckpoint() []byte { return o.signed }

func (o *oneCheckpoint) ReadCheckpoint(_ context.Context, log, size int64) ([]byte, error) {
	if log == 1 && size == 7 {
		return o.signed, nil
	}
	return nil, nil
}

func TestCheckpointsArePublic(t *testing.T) {
	t.Parallel()
	kept := &oneCheckpoint{}
	w := open(t, func(o *httpapi.Options) { o.Checkpoints = kept })
	c := w.customer(100)
	const newest = "/.well-known/vqa-ledger/checkpoint"
	require.Equal(t, http.StatusNotFound, w.do(http.MethodGet, newest, "").StatusCode)
	require.Empty(t, c.do(http.MethodGet, "/v1/credits", "").Header.Get("VQA-Ledger-Checkpoint"))
	kept.signed = []byte("origin\n7\nroot\n\n— origin signature\n")
	got := w.do(http.MethodGet, newest, "")
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, string(kept.signed), string(got.raw))
	require.Equal(t, string(kept.signed), string(w.do(http.MethodGet, "/.well-known/vqa-ledger/1/checkpoints/7", "").raw))
	require.Equal(t, http.StatusNotFound, w.do(http.MethodGet, "/.well-known/vqa-ledger/1/checkpoints/8", "").StatusCode)
	require.Equal(t, http.StatusNotFound, w.do(http.MethodGet, "/.well-known/vqa-ledger/0/checkpoints/7", "").StatusCode)
	require.Equal(t, base64.StdEncoding.EncodeToString(kept.signed), c.do(http.MethodGet, "/v1/credits", "").Header.Get("VQA-Ledger-Checkpoint"))
}
