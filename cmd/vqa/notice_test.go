package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"vqa/domain/webhook"
	"vqa/handlers/command"
)

// letterbox is an SMTP server. It refuses the first message.
type letterbox struct {
	address string

	mu      sync.Mutex
	tried   int
	letters []letter
}

// letter is a message with the addresses of its envelope.
type letter struct {
	from, to string
	raw      []byte
}

func newLetterbox(t *testing.T) *letterbox {
	t.Helper()
	box := &letterbox{}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &smtpSession{box: box}, nil }))
	server.Domain = "localhost"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	box.address = l.Addr().String()
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return box
}

// smtpSession is a connection to a letterbox.
type smtpSession struct {
	box *letterbox
	letter
}

func (s *smtpSession) Mail(from string, _ *smtp.MailOptions) error { s.from = from; return nil }
func (s *smtpSession) Rcpt(to string, _ *smtp.RcptOptions) error   { s.to = to; return nil }
func (s *smtpSession) Reset()                                      { s.letter = letter{} }
func (s *smtpSession) Logout() error                               { return nil }

func (s *smtpSession) Data(r io.Reader) (err error) {
	if s.raw, err = io.ReadAll(r); err != nil {
		return err
	}
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if s.box.tried++; s.box.tried == 1 {
		return errors.New("try again later")
	}
	s.box.letters = append(s.box.letters, s.letter)
	return nil
}

func (b *letterbox) all() []letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]letter(nil), b.letters...)
}

// TestAFailingEndpointSendsAnEmail: an endpoint that is disabled sends an email to its notice_email, or else to the
// address with which its owner signed in, also when the mail server refused it at first. One of test mode sends none.
func TestAFailingEndpointSendsAnEmail(t *testing.T) {
	t.Parallel()
	box, c := newLetterbox(t), toolConfig(t)
	c.InferenceURL, c.SMTPURL, c.SMTPFrom = []string{"http://127.0.0.1:9"}, "smtp://"+box.address, "service@example.com"
	s, err := startServer(t.Context(), c, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ada, err := s.commands.SignIn(t.Context(), command.Person{Issuer: "https://id.example", Subject: "ada", Email: "ada@example.com"}, "req_1")
	require.NoError(t, err)
	fail := func(livemode bool, email string) string {
		caller := command.Caller{AccountID: ada, Livemode: livemode}
		made, err := s.commands.CreateWebhookEndpoint(t.Context(), caller, webhook.Settings{
			URL: "https://hooks.example.com/secret", Events: []string{"video.ready"}, NoticeEmail: email,
		})
		require.NoError(t, err)
		disabled, err := s.commands.FailWebhookEndpoint(t.Context(), made.Endpoint, s.clock.Now())
		require.NoError(t, err)
		require.True(t, disabled)
		return made.ID
	}
	fail(false, "test@example.com")
	byAddress := map[string]string{"ops@example.com": fail(true, "ops@example.com"), "ada@example.com": fail(true, "")}
	require.Eventually(t, func() bool { return len(box.all()) == 2 }, time.Minute, 50*time.Millisecond)
	for _, sent := range box.all() {
		id := byAddress[sent.to]
		delete(byAddress, sent.to)
		require.Equal(t, "service@example.com", sent.from)
		m, err := mail.ReadMessage(bytes.NewReader(sent.raw))
		require.NoError(t, err)
		text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		require.NoError(t, err)
		require.Equal(t, "Webhook endpoint "+id+" was disabled", m.Header.Get("Subject"))
		for _, has := range []string{"The endpoint on hooks.example.com", id + "/enable", id + "/deliveries"} {
			require.Contains(t, string(text), has)
		}
		require.NotContains(t, string(text), "/secret", "the path of the URL may be a secret")
	}
	require.Empty(t, byAddress)
	require.Equal(t, 3, box.tried)
}
