package main

import (
	"context"
	"math/rand/v2"

	"vqa/handlers/jobs"
	"vqa/handlers/mail"
	"vqa/handlers/vault"
	"vqa/handlers/webhook"
	"vqa/projections/deliveries"
	"vqa/projections/public"
)

// webhookParts are the parts of a server that deliver webhooks.
type webhookParts struct {
	// vault encrypts and decrypts the secrets of endpoints.
	vault      *vault.Vault
	deliveries *deliveries.Store
	// planner adds deliveries, and dispatcher makes the attempts of this node.
	planner    *webhook.Subscriber
	dispatcher *webhook.Dispatcher
}

// sender returns the sender of emails, or nil when no mail server is configured. Error: a setting is wrong.
func (c config) sender() (*mail.Sender, error) {
	if c.SMTPURL == "" && c.SMTPFrom == "" {
		return nil, nil
	}
	return mail.New(c.SMTPURL, c.SMTPFrom)
}

// notifier returns the notifier about webhook endpoints, or nil without a mail server.
func (s *server) notifier() (jobs.Notifier, error) {
	sender, err := s.config.sender()
	if sender == nil || err != nil {
		return nil, err
	}
	return webhook.Notifier{Streams: s.store, Mailer: sender, PublicURL: s.config.PublicURL}, nil
}

// openWebhooks opens the planner and the dispatcher of webhooks. render returns the bytes of an event.
func (s *server) openWebhooks(ctx context.Context, render func(context.Context, public.Event) ([]byte, error)) error {
	if _, err := s.deliveries.KeepPartitions(ctx, s.clock.Now()); err != nil {
		return err
	}
	poster := s.intake.Client.NewPoster(s.clock.Now)
	s.closers = append(s.closers, func() error { poster.Close(); return nil })
	s.dispatcher = webhook.NewDispatcher(webhook.Options{
		Queue: s.deliveries, Streams: s.store, Outcomes: s.commands, Secrets: s.vault, Poster: poster,
		Schedule: s.config.WebhookRetries, Now: s.clock.Now, Random: rand.Float64,
		Attempted: s.meter.attempted, Log: s.log,
	})
	s.planner = &webhook.Subscriber{
		Events: public.NewReader(s.store), Streams: s.store, Plans: s.deliveries, Render: render, Wake: s.dispatcher.Wake,
		Now: s.clock.Now, Log: s.log,
	}
	return nil
}
