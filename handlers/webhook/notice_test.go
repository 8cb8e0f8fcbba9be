package webhook_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/id"
	domain "vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
	"vqa/handlers/mail"
	"vqa/handlers/webhook"
)

// mailbox keeps the emails that a notifier sends.
type mailbox struct{ messages []mail.Message }

func (m *mailbox) Send(_ context.Context, message mail.Message) error {
	m.messages = append(m.messages, message)
	return nil
}

// TestNoticesAreFew lets an account fail its endpoint and enable it, again and again, and change it in
// between: the address in it may belong to somebody else.
func TestNoticesAreFew(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := &mailbox{}
	n := webhook.Notifier{Streams: w.store, Mailer: box, PublicURL: "https://api.example.com"}
	stream := fold.Webhook.Stream("acct_1")
	endpointID := w.ids.New(id.Webhook)
	_, sealed := newSecret(t)
	w.append("acct_1", stream, domain.Created{
		AccountID: "acct_1", EndpointID: endpointID, Livemode: true, URL: "https://example.com/hook", Events: []string{"video.ready"},
		NoticeEmail: "somebody@example.com", Secret: sealed, At: time.Now(),
	})
	changes := make([]eventstore.Event, 60)
	for i := range changes {
		changes[i] = domain.Changed{
			AccountID: "acct_1", EndpointID: endpointID, URL: "https://example.com/hook", Events: []string{"video.ready"},
			NoticeEmail: "somebody@example.com", At: time.Now(),
		}
	}
	fail := func(at time.Time) {
		r := w.append("acct_1", stream, domain.Disabled{AccountID: "acct_1", EndpointID: endpointID, Reason: domain.AutoFailure, At: at})
		require.NoError(t, n.Notify(t.Context(), command.Notice{AccountID: "acct_1", EndpointID: endpointID, Position: r.Position, At: at, Disabled: true}))
		w.append("acct_1", stream, domain.Enabled{AccountID: "acct_1", EndpointID: endpointID, At: at})
		w.append("acct_1", stream, changes...)
	}
	for range 25 {
		fail(time.Now())
	}
	require.Len(t, box.messages, 20)
	fail(time.Now().Add(25 * time.Hour))
	require.Len(t, box.messages, 21, "a day later")
}
