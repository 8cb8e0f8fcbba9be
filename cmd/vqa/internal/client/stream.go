package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/tmaxmax/go-sse"

	"vqa/domain/query"
)

// Stream has the fields of a live stream that the command line uses.
type Stream struct {
	ID        string      `json:"id"`
	Livemode  bool        `json:"livemode"`
	Status    string      `json:"status"`
	EndReason *string     `json:"end_reason"`
	Model     string      `json:"model"`
	Query     query.Query `json:"query"`
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

// StreamResults returns the JSON of the results of a live stream between two numbers, without them, as far as the server
// keeps them.
func (c *Client) StreamResults(ctx context.Context, id string, after, before int64) (results []json.RawMessage, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/v1/streams/"+url.PathEscape(id)+"/events", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Base, withoutURL(err))
	}
	if resp.StatusCode != http.StatusOK {
		return nil, read(resp, nil)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	for e, err := range sse.Read(resp.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return results, fmt.Errorf("the connection to %s was cut: %w", c.Base, err)
		}
		if e.Type != "result" {
			continue
		}
		seq, err := strconv.ParseInt(e.LastEventID, 10, 64)
		if err != nil || seq >= before {
			return results, err
		}
		results = append(results, json.RawMessage(e.Data))
		if seq == before-1 {
			break
		}
	}
	return results, nil
}
