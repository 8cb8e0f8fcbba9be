package mail_test

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"vqa/handlers/mail"
)

// TestMain makes the process trust the certificate of the servers of these tests.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

var serverTLS *tls.Config

func run(m *testing.M) int {
	donor := httptest.NewTLSServer(nil)
	serverTLS = donor.TLS.Clone()
	serverTLS.NextProtos = nil
	folder, err := os.MkdirTemp("", "mail-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: donor.Certificate().Raw}), 0o600); err != nil {
		panic(err)
	}
	donor.Close()
	if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
		panic(err)
	}
	return m.Run()
}

// box is a mail server with the user vqa and the password secret. It refuses messages to full@example.com.
type box struct {
	needsUser bool
	received  []string
	user      string
	encrypted bool
}

type session struct {
	box  *box
	conn *smtp.Conn
}

func (b *box) NewSession(c *smtp.Conn) (smtp.Session, error) { return &session{b, c}, nil }

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "vqa" || password != "se@cret" {
			return smtp.ErrAuthFailed
		}
		s.box.user = user
		return nil
	}), nil
}

func (s *session) Mail(string, *smtp.MailOptions) error {
	if s.box.needsUser && s.box.user == "" {
		return smtp.ErrAuthRequired
	}
	_, s.box.encrypted = s.conn.TLSConnectionState()
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == "full@example.com" {
		return errors.New("mailbox full")
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.box.received = append(s.box.received, string(text))
	return err
}
func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// serve starts a mail server and returns its address.
func serve(t *testing.T, b *box, offersTLS, fromTheStart bool) string {
	t.Helper()
	server := smtp.NewServer(b)
	server.Domain, server.AllowInsecureAuth = "example.com", true
	if offersTLS && !fromTheStart {
		server.TLSConfig = serverTLS
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	if fromTheStart {
		l = tls.NewListener(l, serverTLS)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return address
}

var letter = mail.Message{ID: "1@example.com", To: "ops@example.com", Subject: "Endpoint disabled – now", Text: "It failed.\n.\nFor 72 hours.\n"}

// TestSend sends through servers with and without TLS and a password.
func TestSend(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, scheme, user      string
		needsUser, offersTLS    bool
		encrypted, fromTheStart bool
		refused                 bool
	}{
		{name: "plain", scheme: "smtp"},
		{name: "STARTTLS is used when it is offered", scheme: "smtp", offersTLS: true, encrypted: true},
		{name: "a password over STARTTLS", scheme: "smtp", user: "vqa:se%40cret@", needsUser: true, offersTLS: true, encrypted: true},
		{name: "a password over TLS", scheme: "smtps", user: "vqa:se%40cret@", needsUser: true, fromTheStart: true, encrypted: true},
		{name: "a password is never sent without TLS", scheme: "smtp", user: "vqa:se%40cret@", needsUser: true, refused: true},
		{name: "a wrong password", scheme: "smtp", user: "vqa:wrong@", needsUser: true, offersTLS: true, refused: true},
		{name: "no password", scheme: "smtp", needsUser: true, offersTLS: true, refused: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &box{needsUser: tt.needsUser}
			s, err := mail.New(tt.scheme+"://"+tt.user+serve(t, b, tt.offersTLS, tt.fromTheStart), "service@example.com")
			require.NoError(t, err)
			err = s.Send(t.Context(), letter)
			if tt.refused {
				require.Error(t, err)
				require.NotContains(t, err.Error(), "se@cret")
				require.Empty(t, b.received)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.encrypted, b.encrypted)
			require.Len(t, b.received, 1)
			for _, has := range []string{"To: <ops@example.com>", "From: <service@example.com>", "Message-ID: <1@example.com>", "Auto-Submitted: auto-generated", "It failed.\r\n"} {
				require.Contains(t, b.received[0], has)
			}
		})
	}
}

// TestRefusedMail: a server that refuses the address, or does not answer, is an error.
func TestRefusedMail(t *testing.T) {
	t.Parallel()
	s, err := mail.New("smtp://"+serve(t, &box{}, false, false), "service@example.com")
	require.NoError(t, err)
	full := letter
	full.To = "full@example.com"
	require.ErrorContains(t, s.Send(t.Context(), full), "mailbox full")
	away, err := mail.New("smtp://127.0.0.1:1", "service@example.com")
	require.NoError(t, err)
	require.Error(t, away.Send(t.Context(), letter))
}

// TestNew refuses settings that cannot work.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{"mail.example.com", "service@example.com"}, {"http://mail.example.com", "service@example.com"}, {"smtp://", "service@example.com"},
		{"smtp://mail.example.com", ""}, {"smtp://mail.example.com", "service"}, {"smtp://mail.example.com:99999", "service@example.com"},
		{"", "service@example.com"},
	} {
		_, err := mail.New(tt[0], tt[1])
		require.Error(t, err, "%q", tt)
	}
	for _, server := range []string{"smtp://mail.example.com", "smtps://a:b@mail.example.com:465"} {
		_, err := mail.New(server, "Service <service@example.com>")
		require.NoError(t, err)
	}
}
