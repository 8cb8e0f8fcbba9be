package main

import (
	"context"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/client"
	"vqa/domain/account"
)

// collectorPercent is how much the heap may grow between two garbage collections, in percent of what is in use.
// A service uses few tens of MB, so Go's 100 collected seven times a second under load and took 0.22 of a core.
// With 400 it is 0.06 (docs/reliability.md#overload).
const collectorPercent = 400

func serveCommand() *cobra.Command {
	var link bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service: API, jobs, embedded Postgres and inference worker",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c, cmd.ErrOrStderr(), link)
		},
	}
	cmd.Flags().BoolVar(&link, "signin", false, "print a one-time link that signs you in to the pages (see vqa signin)")
	return strict(cmd)
}

// greeting names the address of this node too, when callers use another one: each of several nodes
// has the same public URL.
func greeting(c config) string {
	at := c.PublicURL
	if at != "http://"+c.Addr {
		at += " through " + c.Addr
	}
	return fmt.Sprintf("vqa answers on %s (data in %s); stop with Ctrl-C", at, c.DataDir)
}

// serve runs the service until ctx ends or a part fails. With link, it prints a one-time link. Only a person at a
// terminal asks for one: the output of a service is often kept in a log.
func serve(ctx context.Context, c config, out io.Writer, link bool) error {
	log := newLogger(out, c)
	// The HTTP client of the standard library logs what a foreign server sends unasked, as often as it does.
	unasked := slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	stdlog.SetFlags(unasked.Flags())
	stdlog.SetOutput(unasked.Writer())
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectorPercent)
	}
	fmt.Fprintf(out, "vqa starts with the data in %s; the first start takes some seconds longer\n", c.DataDir)
	s, err := startServer(ctx, c, log)
	if err != nil {
		return err
	}
	err = s.attend(ctx, out, link)
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}

// attend greets when the service is ready, or after startPatience, and waits until ctx ends or a part fails.
func (s *server) attend(ctx context.Context, out io.Writer, link bool) error {
	waiting, stop := context.WithTimeout(ctx, startPatience)
	defer stop()
	ready := make(chan struct{})
	s.work("the wait for the start", func() error {
		defer close(ready)
		client.New(s.baseURL()).AwaitReady(waiting)
		return nil
	})
	for {
		select {
		case <-ctx.Done():
			s.log.Info("stopping")
			return nil
		case err := <-s.failed:
			s.log.Error("a part of the service failed", "error", err)
			return err
		case <-ready:
			ready = nil
			if err := s.greet(ctx, out, link); err != nil {
				return err
			}
		}
	}
}

// greet prints the address of the service and, with link, a one-time link.
func (s *server) greet(ctx context.Context, out io.Writer, link bool) error {
	fmt.Fprintln(out, greeting(s.config))
	if !link || ctx.Err() != nil {
		return nil //nolint:nilerr // the service is stopping
	}
	printed, err := s.signInLink(ctx)
	if err == nil {
		fmt.Fprintf(out, "sign in as operator, once, within %d minutes: %s\n", int(account.SignInLinkLife/time.Minute), printed.URL)
	}
	return err
}

// newLogger returns a logger that writes key=value lines.
func newLogger(out io.Writer, c config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level}))
}

// jobLog returns a logger for River that drops everything below a warning.
func jobLog(log *slog.Logger) *slog.Logger {
	return slog.New(quietHandler{log.Handler()})
}

// quietHandler passes on only warnings and errors.
type quietHandler struct{ slog.Handler }

// WithAttrs implements slog.Handler.
func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}

// Enabled implements slog.Handler.
func (h quietHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}
