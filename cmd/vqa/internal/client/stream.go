package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Stream has the fields of a live stream that the command line uses.
type Stream struct {
	ID        string  `json:"id"`
	Livemode  bool    `json:"livemode"`
	Status    string  `json:"status"`
	EndReason *string `json:"end_reason"`
	Model     string  `json:"model"`
	Query     struct {
		PromptIntent string `json:"prompt_intent"`
	} `json:"query"`
	Signaling *struct {
		URL string `json:"url"`
	} `json:"signaling"`
	FailureDiagnostic *struct {
		Hint string `json:"hint"`
	} `json:"failure_diagnostic"`
	Usage *struct {
		BilledSeconds      int64  `json:"billed_seconds"`
		CreditBalanceAfter *int64 `json:"credit_balance_after"`
	} `json:"usage"`
	// Raw is the JSON that the server sent.
	Raw json.RawMessage `json:"-"`
}

// CreateStream creates a live stream.
func (c *Client) CreateStream(ctx context.Context, body map[string]any, idempotencyKey string) (Stream, error) {
	var s Stream
	err := c.call(ctx, http.MethodPost, "/v1/streams", http.Header{"Idempotency-Key": {idempotencyKey}}, body, &s)
	return s, err
}

// Stream reads a live stream.
func (c *Client) Stream(ctx context.Context, id string) (Stream, error) {
	var s Stream
	err := c.call(ctx, http.MethodGet, "/v1/streams/"+url.PathEscape(id), nil, nil, &s)
	return s, err
}

// EndStream ends a live stream.
func (c *Client) EndStream(ctx context.Context, id string) (Stream, error) {
	var s Stream
	err := c.call(ctx, http.MethodPost, "/v1/streams/"+url.PathEscape(id)+"/end", nil, nil, &s)
	return s, err
}

// SignalToken returns a token for the signaling of a live stream.
func (c *Client) SignalToken(ctx context.Context, id string) (string, error) {
	var t struct {
		Token string `json:"token"`
	}
	body := map[string]any{"scopes": []string{"streams:signal"}, "stream_id": id}
	err := c.call(ctx, http.MethodPost, "/v1/client_tokens", nil, body, &t)
	return t.Token, err
}
