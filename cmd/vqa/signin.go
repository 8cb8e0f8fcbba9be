package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// signInLink is the output of `vqa signin`. The link cannot be read again.
type signInLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
	// RequestID identifies the change in the log.
	RequestID string `json:"request_id"`
}

func signInCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "signin",
		Short: "Print a one-time link that signs you in to the pages of the service",
		Long: "Prints a link that signs a browser in as the operator of this installation. The link works once, for 10 minutes.\n" +
			"It also works when VQA_OIDC_ISSUER is set, so that a broken provider does not lock you out.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var used config
			return showFrom(cmd, func(ctx context.Context, a *app) (signInLink, error) {
				used = a.config
				return a.signInLink(ctx)
			}, func(s terminal.Screen, link signInLink) {
				fmt.Fprintf(s, "  %s\n\n  Open this link in a browser. It works once, until %s.\n", s.Paint(terminal.Bold, link.URL), link.ExpiresAt.Format(time.RFC3339))
				if _, ok := serverOf(used.DataDir); !ok && used.DatabaseURL == "" {
					fmt.Fprintln(s, "  The service does not run here now: start it with vqa serve.")
				}
			})
		},
	})
}

// signInLink creates a one-time link of the operator.
func (a *app) signInLink(ctx context.Context) (signInLink, error) {
	request := newRequestID()
	secret, expires, err := a.commands.CreateSignInLink(ctx, operator(), request)
	if err != nil {
		return signInLink{}, err
	}
	at := a.config.PublicURL
	if r, ok := serverOf(a.config.DataDir); ok && at == "http://"+a.config.Addr {
		at = r.URL // the port may have been chosen at the start
	}
	return signInLink{URL: at + "/signin?link=" + url.QueryEscape(secret), ExpiresAt: expires, RequestID: request}, nil
}
