package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"vqa/cmd/vqa/internal/client"
	"vqa/handlers/command"
)

// startPatience bounds the time in which the engine of a server that this command started may load.
const startPatience = time.Minute

// session is a server that answers, with a key that it accepts.
type session struct {
	*client.Client
	config config
	// own is the server that was started for this command, or nil.
	own     *server
	notices io.Writer
}

// connect finds a running server and a key. When no server answers, it starts one that ends with the
// session. Empty arguments mean that connect searches for a server or a key.
func connect(ctx context.Context, c config, at, key string, notices io.Writer) (s *session, err error) {
	s = &session{config: c, notices: notices}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	if s.Client, err = s.find(ctx, at); err != nil {
		return s, err
	}
	if key == "" {
		key = os.Getenv("VQA_API_KEY")
	}
	if key != "" {
		s.Key = key
		return s, nil
	}
	return s, s.useStoredKey(ctx, at != "")
}

// awaitReady waits until a server that this command started can take work. Its engine loads while
// the video is uploaded. A timeout is not an error here: the next request reports the problem.
func (s *session) awaitReady(ctx context.Context) {
	if s.own == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	s.AwaitReady(ctx)
}

// Close ends the server that connect started.
func (s *session) Close() error {
	if s.own == nil {
		return nil
	}
	own := s.own
	s.own = nil
	return own.Close()
}

// find returns a client of a server that answers.
func (s *session) find(ctx context.Context, at string) (*client.Client, error) {
	if at != "" {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("--url %s is not a URL such as http://127.0.0.1:8080", at)
		}
		c := client.New(at)
		if !c.Healthy(ctx) {
			return nil, fmt.Errorf("no server answers at %s", at)
		}
		return c, nil
	}
	announced, _ := serverOf(s.config.DataDir)
	for _, base := range []string{announced.URL, s.config.PublicURL, "http://" + client.Dialable(s.config.Addr)} {
		if c := client.New(base); base != "" && c.Healthy(ctx) {
			return c, nil
		}
	}
	if err := s.config.checkData(s.notices); err != nil {
		return nil, err
	}
	fmt.Fprintln(s.notices, "no server is running: starting one for this command")
	quiet := s.config
	if quiet.LogLevel == "info" {
		quiet.LogLevel = "error"
	}
	single := s.config
	// The server ends with the command, so artifacts and demo videos could not be read afterwards.
	single.Demo, single.Artifacts = false, false
	own, err := startServer(ctx, single, newLogger(s.notices, quiet))
	if err != nil {
		return nil, err
	}
	s.own = own
	return client.New(own.baseURL()), nil
}

// commands calls do with the command service of the server that this command started, or else with
// one that works on the same database as the running server.
func (s *session) commands(ctx context.Context, do func(*command.Service) error) error {
	if s.own != nil {
		return do(s.own.commands)
	}
	if err := s.config.checkData(s.notices); err != nil {
		return err
	}
	a, err := openApp(ctx, s.config, newLogger(s.notices, s.config), adapters{})
	if err != nil {
		return err
	}
	return errors.Join(do(a.commands), a.Close())
}

// sharesData reports whether the running server may use the same database as this program. A key in
// another database would be useless.
func (s *session) sharesData() bool {
	if s.own != nil || s.config.DatabaseURL != "" {
		return true
	}
	other := dataDirOf(s.Base)
	return hasData(s.config.DataDir) && (other == "" || other == s.config.DataDir)
}
