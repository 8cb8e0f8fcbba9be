package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tmaxmax/go-sse"
)

// Event is an event of the feed (docs/contract.md#events-feed).
type Event struct {
	ID, Type string
	// Body is the JSON of the event, as a webhook has it.
	Body string
}

const (
	// maxEvent bounds an event of the feed, in bytes.
	maxEvent = 8 << 20
	// reconnectAfter is the pause before a connection that was cut is opened again. It doubles up to
	// reconnectMost.
	reconnectAfter = 250 * time.Millisecond
	reconnectMost  = 5 * time.Second
)

// Events calls deliver with each event after the one with this id, in order, until ctx ends or the server refuses the
// request. Without an id it starts with the next event. A cut connection is opened again, and no event is lost.
// lost is called with the reason when a connection was cut.
func (c *Client) Events(ctx context.Context, after string, deliver func(Event), lost func(error)) error {
	for pause := reconnectAfter; ; {
		began := time.Now()
		err := c.stream(ctx, &after, deliver)
		var refused *Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests:
			return err
		case time.Since(began) > reconnectMost:
			pause = reconnectAfter
		}
		if err != nil {
			lost(err)
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, reconnectMost)
	}
}

// stream reads one connection to its end, and keeps the id of the last event in after.
func (c *Client) stream(ctx context.Context, after *string, deliver func(Event)) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Base+"/v1/events/stream", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	if *after != "" {
		req.Header.Set("Last-Event-ID", *after)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Base, withoutURL(err))
	}
	if resp.StatusCode != http.StatusOK {
		return read(resp, nil)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	for e, err := range sse.Read(resp.Body, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return fmt.Errorf("the connection to %s was cut: %w", c.Base, err)
		}
		if e.Type == "end" {
			return fmt.Errorf("the server ended the stream: %s", e.Data)
		}
		if e.LastEventID != "" && e.LastEventID != *after {
			*after = e.LastEventID
			if e.Data != "" {
				deliver(Event{ID: e.LastEventID, Type: e.Type, Body: e.Data})
			}
		}
	}
	return nil
}

// AwaitEvent waits until the feed has an event of a type about a resource, and returns its id. The feed shows an event
// when its position is final.
func (c *Client) AwaitEvent(ctx context.Context, kind, resourceID string) (string, error) {
	path := "/v1/events?" + url.Values{"limit": {"1"}, "type": {kind}, "resource_id": {resourceID}}.Encode()
	for {
		var list struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		if err := c.call(ctx, http.MethodGet, path, nil, nil, &list); err != nil {
			return "", err
		}
		if len(list.Data) > 0 {
			return list.Data[0].ID, nil
		}
		if err := sleep(ctx, PollEvery); err != nil {
			return "", err
		}
	}
}

// FixtureVideo returns the id of the video of test mode that belongs to a test key, or nothing.
func (c *Client) FixtureVideo(ctx context.Context) (string, error) {
	var list struct {
		Data []struct {
			ID       string `json:"id"`
			Livemode bool   `json:"livemode"`
		} `json:"data"`
	}
	err := c.call(ctx, http.MethodGet, "/v1/videos?limit=100&status=ready", nil, nil, &list)
	for _, v := range list.Data {
		if !v.Livemode {
			return v.ID, nil
		}
	}
	return "", err
}
