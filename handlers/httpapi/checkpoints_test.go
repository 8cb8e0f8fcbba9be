package httpapi_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
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
	for _, other := range []string{
		"1/checkpoints/8", "2/checkpoints/7", "0/checkpoints/7", "1/checkpoints/0", "-1/checkpoints/7", "1/checkpoints/-7",
		"01/checkpoints/7", "1/checkpoints/07", "+1/checkpoints/7", "1/checkpoints/+7", "1/checkpoints/%2B7", "%31/checkpoints/7", "1/checkpoints/%37",
		"1/checkpoints/7.0", "1/checkpoints/7e0", "1/checkpoints/0x7", "1/checkpoints/seven", "1/checkpoints/9223372036854775808",
	} {
		t.Log(other)
		w.refused(w.do(http.MethodGet, "/.well-known/vqa-ledger/"+other, ""), http.StatusNotFound, fault.ResourceNotFound, "")
	}
	// The id of a key is in the name of a log, and is not its number.
	byKey := w.do(http.MethodGet, "/.well-known/vqa-ledger/lk_be7714938fa7c3eb/checkpoints/7", "")
	w.refused(byKey, http.StatusNotFound, fault.ResourceNotFound, "log")
	require.Contains(t, byKey.at("error.message"), "because log in the path is malformed")
	require.Equal(t, string(kept.signed), string(w.do(http.MethodGet, "/.well-known/vqa-ledger/1/checkpoints/7?x=1", "").raw))
	require.Equal(t, base64.StdEncoding.EncodeToString(kept.signed), c.do(http.MethodGet, "/v1/credits", "").Header.Get("VQA-Ledger-Checkpoint"))
}
