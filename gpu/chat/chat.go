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
	// maxAnswer is how many bytes of an answer are read.
	maxAnswer = 1 << 20
	// maxConnections bounds the calls to one server; more wait within their time.
	maxConnections = 32
	// dialTimeout bounds connecting, within the time of the question.
	dialTimeout = 5 * time.Second
)

// Options say which model of which server is asked.
type Options struct {
	// URL is the base of the protocol: http://host:8000/v1.
	URL string
	// Model is its name at the server.
	Model string
	// APIKey is sent as a bearer token; empty for a server without keys.
	APIKey string
}

// Client asks one model. It is safe for concurrent use.
type Client struct {
	model  string
	key    string
	api    *openai.Client
	client *http.Client
}

// New returns a client, or an error for options that cannot work. It connects to nothing.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("chat: the URL of the server is not an http or https URL")
	}
	if u.User != nil {
		return nil, errors.New("chat: the URL of the server must not carry a password; the key is an option of its own")
	}
	if strings.TrimSpace(o.Model) == "" {
		return nil, errors.New("chat: a model must be named")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = maxConnections, maxConnections
	c := &Client{model: o.Model, key: o.APIKey, client: &http.Client{
		Transport: bounded{transport},
		// A redirect would carry the question, and perhaps the key, elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}}
	config := openai.DefaultConfig(o.APIKey)
	config.BaseURL, config.HTTPClient = strings.TrimRight(o.URL, "/"), c.client
	c.api = openai.NewClientWithConfig(config)
	return c, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Model is the name of the model that is asked.
func (c *Client) Model() string { return c.model }

// Part is a piece of a question: a text, or a picture.
type Part struct {
	Text string
	// JPEG is a whole file; Text is empty then.
	JPEG []byte
}

// Request is what a model is asked.
type Request struct {
	// System tells the model its task.
	System string
	// Parts are the question itself, in order.
	Parts []Part
	// Schema is what an answer must look like.
	Schema *Schema
	// Timeout bounds the whole call, > 0.
	Timeout time.Duration
}

// Ask returns the answer of the model, a JSON value that satisfies the question's schema.
// Errors wrap ErrUnavailable, ErrRefused or ErrInvalid; or the error of ctx when that ended first.
func (c *Client) Ask(ctx context.Context, q Request) (json.RawMessage, error) {
	asking, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	answer, err := c.try(asking, q)
	if again(err) && asking.Err() == nil {
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

// try makes one call.
func (c *Client) try(ctx context.Context, q Request) (json.RawMessage, error) {
	// No temperature: models that reason refuse one. The seed makes servers that sample
	// repeat themselves.
	got, err := c.api.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
		Model: c.model,
		Seed:  new(int),
		Messages: []openai.ChatCompletionMessage{
			{Role: openai.ChatMessageRoleSystem, Content: q.System},
			userMessage(q.Parts),
		},
		ResponseFormat: &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			// Strict is the hosted service's word for a dialect of JSON Schema without
			// optional fields; the check here does not need it.
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: q.Schema.name, Schema: q.Schema.text},
		},
	})
	if err != nil {
		return nil, err
	}
	if len(got.Choices) == 0 {
		return nil, fmt.Errorf("%w: no choice", ErrInvalid)
	}
	choice := got.Choices[0]
	switch {
	case choice.Message.Refusal != "" || choice.FinishReason == openai.FinishReasonContentFilter:
		return nil, fmt.Errorf("%w: the model declined", ErrRefused)
	case choice.FinishReason == openai.FinishReasonLength:
		return nil, fmt.Errorf("%w: cut off by the server's limit", ErrInvalid)
	}
	return json.RawMessage(choice.Message.Content), nil
}

// userMessage is a plain text where there are no pictures: servers of models without sight
// often take nothing else.
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
		picture := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(p.JPEG)
		out[i] = openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: picture},
		}
	}
	return out
}
