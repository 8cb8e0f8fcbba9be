package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"vqa/eventstore/translog"
)

const (
	// askTimeout bounds a request.
	askTimeout = 10 * time.Second
	// mostResponse bounds a response, in bytes. A cosignature has about 150.
	mostResponse = 16 << 10
	// mostText bounds the part of a response in an error, in bytes.
	mostText = 200
	// sizeType is the media type of a response that has only the size of a tree.
	sizeType = "text/x.tlog.size"
)

// ErrInconsistent says that the tree of the checkpoint does not extend the tree that the witness knows.
var ErrInconsistent = errors.New("the checkpoint does not extend the tree that the witness has cosigned")

// ConflictError says that the witness knows a tree of another size than the request assumed. When the sizes are
// equal, it knows another tree of this size.
type ConflictError struct{ Size int64 }

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("the witness has cosigned a tree of %d leaves", e.Size)
}

// Client asks one witness. It is safe for concurrent use.
type Client struct {
	key    translog.Witness
	prefix string
	http   *http.Client
}

// Setting is a configured witness: "name+hash+key@URL".
type Setting struct {
	Key translog.Witness
	// URL is the submission prefix, to which add-checkpoint is appended.
	URL *url.URL
}

// ParseSetting parses a configured witness. Its errors do not repeat the text.
func ParseSetting(text string) (Setting, error) {
	verifierKey, address, _ := strings.Cut(strings.TrimSpace(text), "@")
	key, err := translog.ParseWitness(verifierKey)
	if err != nil {
		return Setting{}, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" {
		return Setting{}, errors.New("the part after @ is not an https URL without credentials, query and fragment")
	}
	return Setting{key, u}, nil
}

// New returns a client. out sends its requests.
func New(s Setting, out http.RoundTripper) *Client {
	return &Client{s.Key, strings.TrimSuffix(s.URL.String(), "/"), &http.Client{
		Transport: out, Timeout: askTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Key returns the key that verifies the cosignatures of the witness.
func (c *Client) Key() translog.Witness { return c.key }

// URL returns the submission prefix.
func (c *Client) URL() string { return c.prefix }

// Add asks for a cosignature on a checkpoint and returns its signature line. oldSize is the size of the tree that
// the witness is assumed to know, and proof shows that the checkpoint extends it. Errors: *ConflictError,
// ErrInconsistent, or the witness cannot be asked.
func (c *Client) Add(ctx context.Context, oldSize int64, proof []translog.Hash, signed []byte) (line []byte, err error) {
	body := translog.AddCheckpointRequest(oldSize, proof, signed)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.prefix+"/add-checkpoint", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask witness %s: %w", c.key.Name, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask witness %s: %w", c.key.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, mostResponse))
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read the response of witness %s: %w", c.key.Name, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("witness %s: %w", c.key.Name, refusal(response, text))
	}
	line, _, err = c.key.Cosignature(signed, text)
	return line, err
}

// refusal returns the error of a response without a cosignature.
func refusal(response *http.Response, text []byte) error {
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch response.StatusCode {
	case http.StatusConflict:
		size, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
		if media == sizeType && err == nil {
			return &ConflictError{int64(size)}
		}
	case http.StatusUnprocessableEntity:
		return ErrInconsistent
	case http.StatusForbidden:
		return errors.New("it does not accept the key that signed the checkpoint; give it the key of this log (status 403)")
	case http.StatusNotFound:
		return errors.New("it does not know the origin of this log, or the URL is wrong (status 404)")
	}
	return fmt.Errorf("it answered with status %d: %q", response.StatusCode, text[:min(len(text), mostText)])
}
