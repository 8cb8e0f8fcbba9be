package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/projections/history"
)

// TestAnEndpointIsFoundInItsAccount resolves the id of a webhook endpoint before and after its deletion.
func TestAnEndpointIsFoundInItsAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const kept, gone = "we_01M7XTVXK5WCERZQVXS7JWCRQA", "we_01M7XTVXK5WCERZQVXS7JWCRQB"
	made := func(id string) placed {
		return placed{fold.Webhook.Stream(acct), webhook.Created{AccountID: acct, EndpointID: id, URL: "https://example.com", Events: []string{"video.ready"}}}
	}
	w.append(by(opening, key), made(kept))
	w.append(by(opening, key), made(gone))
	w.append(by(asking, key), placed{fold.Webhook.Stream(acct), webhook.Deleted{AccountID: acct, EndpointID: gone}})
	subject, err := w.reader.Resolve(t.Context(), kept)
	require.NoError(t, err)
	require.Equal(t, []eventstore.StreamID{fold.Webhook.Stream(acct)}, subject.Streams)
	s, err := w.reader.StateAt(t.Context(), subject.Streams[0], history.Moment{})
	require.NoError(t, err)
	require.Equal(t, kept, subject.Narrow(s.State).(webhook.Endpoint).ID)
	require.Nil(t, history.Subject{MemberID: gone}.Narrow(s.State))

	subject, err = w.reader.Resolve(t.Context(), gone)
	require.NoError(t, err)
	require.Equal(t, fold.Webhook.Stream(acct), subject.Streams[0])
	require.EqualValues(t, 3, subject.Version, "its deletion")
	var unknown *history.UnknownError
	_, err = w.reader.Resolve(t.Context(), "we_01M7XTVXK5WCERZQVXS7JWCRQC")
	require.ErrorAs(t, err, &unknown)
}
