package webhook

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"vqa/domain/account"
	"vqa/domain/webhook"
	"vqa/eventstore/fold"
	"vqa/handlers/command"
	"vqa/handlers/mail"
)

// Mailer sends an email.
type Mailer interface {
	Send(ctx context.Context, m mail.Message) error
}

// Notifier writes to the owner of an endpoint that fails (docs/contract.md#delivery-6).
type Notifier struct {
	Streams Streams
	Mailer  Mailer
	// PublicURL is the base address of the service.
	PublicURL string
}

// Notify sends a notice to the notice_email of the endpoint, or else to the address with which the owner of the account
// signed in. It sends none if there is no address, or the endpoint is gone, in test mode or was enabled since. Nobody
// confirms an address; but an endpoint must fail for 36 hours for each notice, and an account has few endpoints. The error
// is that of the mailer or of the log.
func (n Notifier) Notify(ctx context.Context, notice command.Notice) error {
	state, err := endpointsOf(ctx, n.Streams, notice.AccountID)
	if err != nil {
		return err
	}
	e, known := state.Endpoint(notice.EndpointID)
	// Anybody can have a test key, so a notice of test mode could go to anybody.
	if !known || !e.Livemode || e.Enabled() == notice.Disabled {
		return nil
	}
	to, err := n.addressee(ctx, e)
	if to == "" || err != nil {
		return err
	}
	return n.Mailer.Send(ctx, n.message(notice, e, to))
}

// addressee returns the address that gets the notices about an endpoint, or an empty one.
func (n Notifier) addressee(ctx context.Context, e webhook.Endpoint) (string, error) {
	if e.NoticeEmail != "" {
		return e.NoticeEmail, nil
	}
	stream := fold.Account.Stream(e.AccountID)
	recorded, err := n.Streams.LoadAll(ctx, stream)
	if err != nil {
		return "", fmt.Errorf("the account %s: %w", e.AccountID, err)
	}
	a, err := fold.Account.Fold(account.State{}, recorded...)
	return a.Email, err
}

// message has nothing of the endpoint that its owner wrote, except the host of its URL.
func (n Notifier) message(notice command.Notice, e webhook.Endpoint, to string) mail.Message {
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
	host := e.URL
	if u, err := url.Parse(e.URL); err == nil {
		host = u.Hostname()
	}
	service := "localhost"
	if u, err := url.Parse(n.PublicURL); err == nil {
		service = u.Hostname()
	}
	subject, text := fmt.Sprintf("Webhook endpoint %s is failing", e.ID),
		fmt.Sprintf("All attempts to deliver events to %s have failed since %s. The endpoint will be disabled after 72 hours of failures.\n", host, at(notice.FailingSince))
	if notice.Disabled {
		subject = fmt.Sprintf("Webhook endpoint %s was disabled", e.ID)
		text = fmt.Sprintf("The endpoint on %s was disabled at %s, because all attempts failed for 72 hours.\n\n"+
			"Events are kept meanwhile. When the endpoint works again, enable it and send them:\nPOST %s/v1/webhook_endpoints/%s/enable {\"redeliver\": true}\n",
			host, at(notice.At), n.PublicURL, e.ID)
	}
	text += fmt.Sprintf("\nWhat its server responded:\nGET %s/v1/webhook_endpoints/%s/deliveries\n\n"+
		"You get this notice because this is the notice_email of the endpoint, or the address with which you sign in.\n", n.PublicURL, e.ID)
	return mail.Message{
		ID: fmt.Sprintf("%s.%d@%s", e.ID, notice.Position, service), To: to, Subject: subject, Text: text,
	}
}
