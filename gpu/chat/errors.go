package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// The three ways in which a question ends without an answer; see the package.
var (
	ErrUnavailable = errors.New("the model's server is away")
	ErrRefused     = errors.New("the model's server refused")
	ErrInvalid     = errors.New("the model's server answered what it was not asked for")
)

var (
	errRedirect = errors.New("it redirects elsewhere")
	errTooLong  = errors.New("its answer is too long")
)

// maxSaid is how much of what a server says is put into an error, in bytes.
const maxSaid = 200

// statusOf is the status of an answer that was none, and what it said; 0 when there was no
// answer.
func statusOf(err error) (status int, said string) {
	var named *openai.APIError
	var plain *openai.RequestError
	switch {
	case errors.As(err, &named):
		return named.HTTPStatusCode, named.Message
	case errors.As(err, &plain):
		return plain.HTTPStatusCode, string(plain.Body)
	}
	return 0, ""
}

// again is true for a call that may fare better at once: one that was dropped on the way,
// as by a server that starts anew, or that the server could not serve. One that came too
// early (429) would come too early again.
func again(err error) bool {
	status, _ := statusOf(err)
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case 0:
		return err != nil && !garbled(err) && !errors.Is(err, errRedirect) && !errors.Is(err, ErrRefused)
	}
	return false
}

// garbled is true for an answer that came and is not the protocol.
func garbled(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.Is(err, ErrInvalid) || errors.Is(err, errTooLong) || errors.As(err, &syntax) || errors.As(err, &kind)
}

// classify makes one of the three errors of what the library says. The library's own text
// repeats whatever the server sent, so only the status and a little of it are kept.
func (c *Client) classify(err error) error {
	status, said := statusOf(err)
	switch {
	case errors.Is(err, ErrRefused) || errors.Is(err, ErrInvalid):
		return err
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%w: %w", ErrInvalid, errTooLong)
	case errors.Is(err, errRedirect):
		return fmt.Errorf("%w: %w", ErrRefused, errRedirect)
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return fmt.Errorf("%w: status %d: %s", ErrUnavailable, status, c.quote(said))
	case status != 0:
		return fmt.Errorf("%w: status %d: %s", ErrRefused, status, c.quote(said))
	case garbled(err):
		return fmt.Errorf("%w: %s", ErrInvalid, c.quote(err.Error()))
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, c.quote(err.Error()))
}

// quote is the beginning of a foreign text, without the key that it may repeat.
func (c *Client) quote(text string) string {
	if c.key != "" {
		text = strings.ReplaceAll(text, c.key, "[key]")
	}
	if len(text) > maxSaid {
		text = text[:maxSaid] + "…"
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
}

// bounded reads at most maxAnswer of each answer.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.Transport.RoundTrip(r)
	if err == nil {
		answer.Body = &limited{ReadCloser: answer.Body, left: maxAnswer}
	}
	return answer, err
}

// limited fails where an io.LimitReader would end: a cut answer must not look whole.
type limited struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
