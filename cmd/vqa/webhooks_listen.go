package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"vqa/cmd/vqa/internal/client"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/id"
	"vqa/domain/webhook"
)

// forwardTimeout bounds the response of the address (docs/contract.md#delivery-3).
const forwardTimeout = 10 * time.Second

// listenOptions holds the flags of `vqa listen`.
type listenOptions struct {
	server, key, forwardTo, after string
	events                        []string
}

func listenCommand() *cobra.Command {
	var o listenOptions
	cmd := &cobra.Command{
		Use:   "listen --forward-to URL",
		Short: "Send the events of your account to an address on your machine",
		Long: `Follows the events of the account and posts each one to an address, with the body and the signature of
a webhook. The address may be on your machine. The signing secret is printed at the start and stays the same.
An event that the address refuses is not sent again. After a cut connection, the command continues with the
next event. It runs until Ctrl-C, and then prints the id to continue from with --after.

The key and the server are found as for vqa ask. A test key has the events of test mode.`,
		Example: `  vqa listen --forward-to http://localhost:3000/hook
  vqa listen --forward-to http://localhost:3000/hook --events analysis.completed,analysis.failed`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := locatedConfig(o.server, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return runListen(cmd.Context(), c, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.server, "url", "", "base URL of the server")
	flags.StringVar(&o.key, "key", "", "API key (VQA_API_KEY keeps it out of the process list)")
	flags.StringVar(&o.forwardTo, "forward-to", "", "address that gets the events")
	flags.StringSliceVar(&o.events, "events", nil, "types of events, comma-separated; all when empty")
	flags.StringVar(&o.after, "after", "", "id of the event to continue after; the next event when empty")
	return strict(cmd)
}

func runListen(ctx context.Context, c config, o listenOptions, stdout, stderr io.Writer) (err error) {
	to, err := url.Parse(o.forwardTo)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return fmt.Errorf("--forward-to must be an http or https URL, such as http://localhost:3000/hook, not %q", o.forwardTo)
	}
	for _, kind := range o.events {
		if !slices.Contains(webhook.EventTypes(), kind) {
			return fmt.Errorf("--events: %q is not a type of event; the types are %s", kind, strings.Join(webhook.EventTypes(), ", "))
		}
	}
	if o.after != "" && !id.Valid(id.Event, o.after) {
		return fmt.Errorf("--after must be the id of an event, such as evt_01JC0000000000000000000000, not %q", o.after)
	}
	s, err := connect(ctx, c, o.server, o.key, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	secret, err := listenSecret(filepath.Join(c.DataDir, "cli-webhook-secret"))
	if err != nil {
		return err
	}
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "listening to %s; events go to %s, signed with %s\n", s.Base, to.Redacted(), secret)
	f := forwarder{to: to.String(), signer: signer, http: &http.Client{Timeout: forwardTimeout, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
	last := o.after
	err = s.Events(ctx, o.after, func(e client.Event) {
		if len(o.events) == 0 || slices.Contains(o.events, e.Type) {
			fmt.Fprintf(stdout, "%s  %-18s  %s  %s\n", time.Now().Format(time.TimeOnly), e.Type, e.ID, f.forward(ctx, e))
		}
		last = e.ID
	}, func(why error) { fmt.Fprintf(stderr, "%v; connecting again\n", why) })
	if ctx.Err() == nil {
		return err
	}
	if last != "" {
		fmt.Fprintf(stderr, "continue with --after %s\n", terminal.Printable(last))
	}
	return nil
}

// forwarder posts events to one address.
type forwarder struct {
	to     string
	signer *standardwebhooks.Webhook
	http   *http.Client
}

// forward posts an event and returns the answer for people.
func (f forwarder) forward(ctx context.Context, e client.Event) string {
	began := time.Now()
	signature, err := f.signer.Sign(e.ID, began, []byte(e.Body))
	if err != nil {
		return err.Error()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.to, bytes.NewReader([]byte(e.Body)))
	if err != nil {
		return err.Error()
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"vqa/1 (listen)"}}
	req.Header.Set(standardwebhooks.HeaderWebhookID, e.ID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(began.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	resp, err := f.http.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, which may have a password
		}
		return "not delivered: " + err.Error()
	}
	_ = resp.Body.Close()
	return fmt.Sprintf("%d in %d ms", resp.StatusCode, time.Since(began).Milliseconds())
}

// listenSecret returns the signing secret in a file, and creates it when there is none.
func listenSecret(path string) (string, error) {
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		return strings.TrimSpace(string(raw)), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("reading the signing secret: %w", err)
	}
	made, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		return "", err
	}
	secret := webhook.FormatSecret(made)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("storing the signing secret: %w", err)
	}
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("storing the signing secret: %w", err)
	}
	return secret, nil
}
