package mail

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// sendTimeout bounds the connection to the server and each of its answers.
const sendTimeout = 20 * time.Second

// Message is an email in plain text.
type Message struct {
	// ID identifies the message for programs that drop repeats.
	ID, To, Subject, Text string
}

// Sender sends emails through one server. It is safe for concurrent use.
type Sender struct {
	host    string
	from    string
	options []gomail.Option
}

// New returns a sender. server is smtp://[user:password@]host[:port], with STARTTLS, or smtps://… with TLS from the
// start. Without a user, smtp:// also accepts a server that offers no TLS. from is the address of the sender. Errors:
// the URL has another form, or from is no address.
func New(server, from string) (*Sender, error) {
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, fmt.Errorf("the URL of the SMTP server must have the form smtp://[user:password@]host[:port] or smtps://…")
	}
	if err := gomail.NewMsg().From(from); err != nil {
		return nil, fmt.Errorf("the address of the sender %q: %w", from, err)
	}
	s := &Sender{host: u.Hostname(), from: from, options: []gomail.Option{gomail.WithTimeout(sendTimeout)}}
	policy := gomail.TLSOpportunistic
	if u.User != nil {
		password, _ := u.User.Password()
		policy = gomail.TLSMandatory
		s.options = append(s.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(u.User.Username()), gomail.WithPassword(password))
	}
	if u.Scheme == "smtps" {
		s.options = append(s.options, gomail.WithSSLPort(false))
	} else {
		s.options = append(s.options, gomail.WithTLSPortPolicy(policy))
	}
	if u.Port() != "" {
		port, err := strconv.Atoi(u.Port())
		if err != nil {
			return nil, fmt.Errorf("the port of the SMTP server: %w", err)
		}
		s.options = append(s.options, gomail.WithPort(port))
	}
	_, err = gomail.NewClient(s.host, s.options...)
	return s, err
}

// Send sends a message. Errors: an address is wrong, the server cannot be reached or refuses the message.
func (s *Sender) Send(ctx context.Context, m Message) error {
	client, err := gomail.NewClient(s.host, s.options...)
	if err != nil {
		return err
	}
	msg := gomail.NewMsg()
	if err := msg.From(s.from); err != nil {
		return err
	}
	if err := msg.To(m.To); err != nil {
		return err
	}
	msg.SetMessageIDWithValue(m.ID)
	msg.Subject(m.Subject)
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	return client.DialAndSendWithContext(ctx, msg)
}
