package chat

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

const (
	// maxAnswer is the number of bytes of an answer that are read.
	maxAnswer = 1 << 20
	// maxConnections bounds the calls to one server. Further calls wait within their timeout.
	maxConnections = 32
	// dialTimeout bounds connecting, within the timeout of the call.
	dialTimeout = 5 * time.Second
)

// Options name a server and one of its models.
type Options struct {
	// URL is the base URL of the protocol: http://host:8000/v1.
	URL string
	// Model is the name of the model at the server.
	Model string
	// APIKey is sent as a bearer token. It is empty for a server without keys.
	APIKey string
}

// Client sends requests to one model. It is safe for concurrent use.
type Client struct {
	model  string
	key    string
	api    *openai.Client
	client *http.Client
}

// New returns a client, or an error for options that cannot work. It opens no connection.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("chat: the server URL must be an http or https URL")
	}
	if u.User != nil {
		return nil, errors.New("chat: the server URL must not contain a password; set the API key instead")
	}
	if strings.TrimSpace(o.Model) == "" {
		return nil, errors.New("chat: set the name of the model")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = maxConnections, maxConnections
	c := &Client{model: o.Model, key: o.APIKey, client: &http.Client{
		Transport: bounded{transport},
		// A redirect would send the prompt, and perhaps the key, to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}}
	config := openai.DefaultConfig(o.APIKey)
	config.BaseURL, config.HTTPClient = strings.TrimRight(o.URL, "/"), c.client
	c.api = openai.NewClientWithConfig(config)
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Model is the name of the model.
func (c *Client) Model() string { return c.model }

// Part is a piece of a message: a text or an image.
type Part struct {
	Text string
	// JPEG is a whole image file. Text is empty when JPEG is set.
	JPEG []byte
}

// Request is one message to a model and the form of its answer.
type Request struct {
	// System tells the model its task.
	System string
	// Parts are the message, in order.
	Parts []Part
	// Schema describes the answer.
	Schema *Schema
	// Timeout bounds the whole call. It must be positive.
	Timeout time.Duration
}

// Ask returns the answer of the model, a JSON value that matches the request's schema. An error
// wraps ErrUnavailable, ErrRefused or ErrInvalid, or is the error of ctx when that ended first.
func (c *Client) Ask(ctx context.Context, q Request) (json.RawMessage, error) {
	asking, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	answer, err := c.try(asking, q)
	if retryable(err) && asking.Err() == nil {
		answer, err = c.try(asking, q)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, c.classify(err)
	}
	if err := q.Schema.check(answer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return answer, nil
}

// try makes one attempt.
func (c *Client) try(ctx context.Context, q Request) (json.RawMessage, error) {
	// The request has no temperature, because reasoning models refuse one. With a seed, servers
	// that sample repeat their answer.
	got, err := c.api.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: c.model,
		Seed:  new(int),
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: q.System},
			userMessage(q.Parts),
		},
		ResponseFormat: &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			// Strict stays false: it demands a dialect of JSON Schema without optional fields.
			// The check in this package does not need it.
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: q.Schema.name, Schema: q.Schema.text},
		},
	})
	if err != nil {
		return nil, err
	}
	if len(got.Choices) == 0 {
		return nil, fmt.Errorf("%w: it has no choices", ErrInvalid)
	}
	choice := got.Choices[0]
	switch {
	case choice.Message.Refusal != "" || choice.FinishReason == openai.FinishReasonContentFilter:
		return nil, fmt.Errorf("%w: the model declined to answer", ErrRefused)
	case choice.FinishReason == openai.FinishReasonLength:
		return nil, fmt.Errorf("%w: it was cut off at the server's length limit", ErrInvalid)
	}
	return json.RawMessage(choice.Message.Content), nil
}

// userMessage is plain text for a message without images, because servers of text models often
// accept nothing else.
func userMessage(parts []Part) openai.ChatCompletionMessage {
	m := openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser}
	if slices.ContainsFunc(parts, func(p Part) bool { return p.JPEG != nil }) {
		m.MultiContent = contents(parts)
		return m
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	m.Content = strings.Join(texts, "\n")
	return m
}

func contents(parts []Part) []openai.ChatMessagePart {
	out := make([]openai.ChatMessagePart, len(parts))
	for i, p := range parts {
		if p.JPEG == nil {
			out[i] = openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: p.Text}
			continue
		}
		image := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(p.JPEG)
		out[i] = openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: image},
		}
	}
	return out
}
