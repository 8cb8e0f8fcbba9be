package main_test

import (
	"bytes"
	"errors"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
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
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{box: box}, nil }))
	server.Domain = "localhost"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	box.address = l.Addr().String()
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return box
}

// session is a connection to a letterbox.
type session struct {
	box *letterbox
	letter
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error { s.from = from; return nil }
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error   { s.to = to; return nil }
func (s *session) Reset()                                      { s.letter = letter{} }
func (s *session) Logout() error                               { return nil }

func (s *session) Data(r io.Reader) (err error) {
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

// TestAFailingEndpointSendsAnEmail: the owner of an endpoint that is disabled gets an email, also when the mail server
// refused it at first. An endpoint of test mode sends none. A delivery that always fails ends as dead.
func TestAFailingEndpointSendsAnEmail(t *testing.T) {
	t.Parallel()
	box, h := newLetterbox(t), newHooks(t)
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chatty" {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore than was asked for")
			}
			return
		}
		w.WriteHeader(map[string]int{"/gone": http.StatusGone, "/down": http.StatusBadGateway}[r.URL.Path])
	})
	s := ownService(t, "VQA_EGRESS_ALLOW="+h.Listener.Addr().String(), "VQA_EGRESS_CA_FILE="+h.caFile, "VQA_WEBHOOK_RETRIES=1s,2s",
		"VQA_SMTP_URL=smtp://"+box.address, "VQA_SMTP_FROM=service@example.com")
	endpoint := func(c *apiClient, path, email string) string {
		made := c.call(t, http.MethodPost, "/v1/webhook_endpoints", map[string]any{"url": h.URL + path, "events": []string{"video.ready"}, "notice_email": email})
		require.Equal(t, http.StatusCreated, made.status, "%s", made.raw)
		require.Equal(t, email, made.text("notice_email"))
		return "/v1/webhook_endpoints/" + made.text("id")
	}
	live := s.account(t, 10)
	sandbox := (&apiClient{service: s}).call(t, http.MethodPost, "/v1/sandbox", nil)
	test := &apiClient{s, issued{APIKey: sandbox.text("api_key")}}
	chatty := endpoint(live, "/chatty", "")
	spoken := live.call(t, http.MethodPost, chatty+"/test", nil)
	silent, gone, down := endpoint(test, "/gone", "test@example.com"), endpoint(live, "/gone", "ops@example.com"), endpoint(live, "/down", "down@example.com")
	test.call(t, http.MethodPost, silent+"/test", nil)
	live.call(t, http.MethodPost, gone+"/test", nil)
	failed := live.call(t, http.MethodPost, down+"/test", nil)
	disabled := func(c *apiClient, path string) func() bool {
		return func() bool { return c.call(t, http.MethodGet, path, nil).text("disabled_reason") == "auto_failure" }
	}
	require.True(t, poll(stopTimeout, disabled(test, silent)))
	require.True(t, poll(stopTimeout, disabled(live, gone)))

	var dead answer
	require.True(t, poll(stopTimeout, func() bool {
		dead = live.call(t, http.MethodGet, down+"/deliveries/"+failed.text("id"), nil)
		return dead.text("status") == "dead"
	}), "%s", dead.raw)
	require.Equal(t, []any{"retries_exhausted", 3.0, 502.0}, []any{dead.at("dead_reason"), dead.at("attempt_count"), dead.at("last_response_status")})

	require.True(t, poll(stopTimeout, func() bool { return len(box.all()) > 0 }), "%s", s.said)
	sent := box.all()
	require.Len(t, sent, 1)
	require.Equal(t, []string{"service@example.com", "ops@example.com"}, []string{sent[0].from, sent[0].to})
	m, err := mail.ReadMessage(bytes.NewReader(sent[0].raw))
	require.NoError(t, err)
	text, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	require.NoError(t, err)
	at, err := url.Parse(h.URL)
	require.NoError(t, err)
	require.Equal(t, "Webhook endpoint "+gone[len("/v1/webhook_endpoints/"):]+" was disabled", m.Header.Get("Subject"))
	for _, has := range []string{"The endpoint on " + at.Hostname(), gone + "/enable", gone + "/deliveries"} {
		require.Contains(t, string(text), has)
	}
	require.NotContains(t, string(text), "/gone", "the path of the URL may be a secret")
	require.Equal(t, "delivered", live.call(t, http.MethodGet, chatty+"/deliveries/"+spoken.text("id"), nil).text("status"))
	require.NotContains(t, s.said.String(), "more than was asked for", "a server cannot write into the log")
	require.Contains(t, s.said.String(), "could not send an email; trying again")
	require.Contains(t, s.said.String(), "disabled a webhook endpoint: its server responded with 410")
}
