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

// The errors of a call without an answer; see the package comment.
var (
	ErrUnavailable = errors.New("the model server is unavailable")
	ErrRefused     = errors.New("the model server refused the request")
	ErrInvalid     = errors.New("the model server sent an invalid answer")
)

var (
	errRedirect = errors.New("the server redirects to another address")
	errTooLong  = errors.New("the answer is longer than 1 MiB")
)

// maxQuoted is the number of bytes of a server's text that an error quotes.
const maxQuoted = 200

// statusFromError is the HTTP status of a failed call and the text of the server. The status is
// 0 when there was no response.
func statusFromError(err error) (status int, text string) {
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

// retryable is true for a call that may succeed at once: the connection broke, for instance
// because the server restarts, or the server was overloaded. After 429 an immediate second
// attempt would get 429 again.
func retryable(err error) bool {
	status, _ := statusFromError(err)
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case 0:
		return err != nil && !malformed(err) && !errors.Is(err, errRedirect) && !errors.Is(err, ErrRefused)
	}
	return false
}

// malformed is true for a response that is not of the protocol.
func malformed(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.Is(err, ErrInvalid) || errors.Is(err, errTooLong) || errors.As(err, &syntax) || errors.As(err, &kind)
}

// classify turns an error of the library into one of the three errors. The library's text
// repeats everything the server sent, so the new error keeps only the status and a short quote.
func (c *Client) classify(err error) error {
	status, text := statusFromError(err)
	switch {
	case errors.Is(err, ErrRefused) || errors.Is(err, ErrInvalid):
		return err
	case errors.Is(err, errTooLong):
		return fmt.Errorf("%w: %w", ErrInvalid, errTooLong)
	case errors.Is(err, errRedirect):
		return fmt.Errorf("%w: %w", ErrRefused, errRedirect)
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return fmt.Errorf("%w: status %d: %s", ErrUnavailable, status, c.quote(text))
	case status != 0:
		return fmt.Errorf("%w: status %d: %s", ErrRefused, status, c.quote(text))
	case malformed(err):
		return fmt.Errorf("%w: %s", ErrInvalid, c.quote(err.Error()))
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, c.quote(err.Error()))
}

// quote is the beginning of a server's text, without the key that it may repeat.
func (c *Client) quote(text string) string {
	if c.key != "" {
		text = strings.ReplaceAll(text, c.key, "[key]")
	}
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "…"
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
}

// bounded reads at most maxAnswer bytes of each response.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.Transport.RoundTrip(r)
	if err == nil {
		answer.Body = &limited{ReadCloser: answer.Body, left: maxAnswer}
	}
	return answer, err
}

// limited fails at its limit, unlike io.LimitReader, which ends. A cut response must not look
// complete.
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
