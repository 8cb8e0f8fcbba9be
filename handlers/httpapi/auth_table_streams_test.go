package httpapi_test

import (
	"github.com/stretchr/testify/require"

	"vqa/domain/stream"
	"vqa/handlers/command"
	"vqa/projections"
	"vqa/projections/resources"
)

// stream returns a new live stream of the holder, its only one.
func (w *table) stream(h *holder) string {
	w.endStreams(h)
	prompt := "Is there a ball?"
	st, err := w.service.CreateStream(w.t.Context(), h.caller, command.CreateStream{Prompt: &prompt})
	require.NoError(w.t, err)
	return st.ID
}

// endStreams lets the holder create a stream.
func (w *table) endStreams(h *holder) {
	t := resources.Tenant{AccountID: h.caller.AccountID, Livemode: h.caller.Livemode}
	active, _, err := resources.NewReader(w.pool).Streams(w.t.Context(), t, stream.Queued, projections.Page{Limit: 100})
	require.NoError(w.t, err)
	for _, st := range active {
		_, err := w.service.EndStream(w.t.Context(), h.caller, st.ID)
		require.NoError(w.t, err)
	}
}
