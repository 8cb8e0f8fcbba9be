package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/api"
)

// maxWait is the longest wait of wait_for_analysis in seconds. Clients commonly give up after 60 s.
const maxWait = 45

// waited is the result of wait_for_analysis.
type waited[A any] struct {
	Analysis A      `json:"analysis"`
	Retry    *retry `json:"retry"`
}

// retry says why the analysis is not terminal.
type retry struct {
	Reason string `json:"reason"`
	Note   string `json:"note"`
}

// wait follows the event stream of an analysis until it is terminal or the time is over.
func wait(ctx context.Context, c *call) (any, error) {
	seconds, err := strconv.Atoi(c.text("timeout_s"))
	if err != nil || seconds < 1 || seconds > maxWait {
		return nil, fault.Invalid(fault.Violation{Param: "timeout_s", Code: fault.Range, Message: fmt.Sprintf("This must be 1 to %d.", maxWait)})
	}
	following, stop := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer stop()
	r, err := c.request(following, nil)
	if err != nil {
		return nil, err
	}
	f := &follower{memory: memory{header: http.Header{}}, changed: func(a api.Analysis) { c.progress(ctx, a) }}
	c.Edge.ServeHTTP(f, r)
	if f.status >= http.StatusBadRequest {
		return nil, c.problem(&f.memory)
	}
	last, err := f.result()
	switch {
	case err != nil && following.Err() == nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case last == nil:
		return nil, errors.New("the event stream of the analysis ended without an event")
	}
	c.hideBalance(last)
	short := c.withLinks(*last)
	var again *retry
	if !terminal(last.Status) {
		again = &retry{Reason: "timeout", Note: fmt.Sprintf("The analysis is %s. Call wait_for_analysis again with the same analysis_id.", last.Status)}
	} else if c.yes("include_image") {
		c.addPicture(ctx, short.ContactSheetURL)
	}
	return forms{waited[api.Analysis]{*last, again}, waited[analysis]{short, again}}, nil
}

// progress reports the progress of an analysis to a client that asked for it.
func (c *call) progress(ctx context.Context, a api.Analysis) {
	token := c.message.Params.GetProgressToken()
	if token == nil {
		return
	}
	percent := 100.0
	if a.Progress != nil {
		percent = a.Progress.Percent
	}
	message := string(a.Status)
	if a.QueuePosition != nil {
		message = fmt.Sprintf("%s, position %d", a.Status, *a.QueuePosition)
	}
	err := c.message.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: percent, Total: 100, Message: message})
	if err != nil {
		c.Log.DebugContext(ctx, "cannot report the progress of an analysis", "analysis_id", a.Id, "error", err.Error())
	}
}

// follower is the response of an event stream. It decodes the events while they are written.
type follower struct {
	memory
	changed func(api.Analysis)
	last    *api.Analysis
	err     error
}

// Write implements http.ResponseWriter.
func (f *follower) Write(p []byte) (int, error) {
	n, err := f.memory.Write(p)
	if f.status >= http.StatusBadRequest {
		return n, err
	}
	for {
		event, rest, whole := bytes.Cut(f.body.Bytes(), []byte("\n\n"))
		if !whole {
			return n, err
		}
		f.read(string(event))
		f.body.Next(f.body.Len() - len(rest))
	}
}

// Flush implements http.Flusher: events are read as they are written.
func (f *follower) Flush() {}

// read decodes an event.
func (f *follower) read(event string) {
	var name, data string
	for line := range strings.SplitSeq(event, "\n") {
		switch field, value, _ := strings.Cut(line, ": "); field {
		case "event":
			name = value
		case "data":
			data = value
		}
	}
	switch name {
	case "analysis":
		var a api.Analysis
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			f.err = fmt.Errorf("decoding an event of the analysis: %w", err)
			return
		}
		f.last = &a
		f.changed(a)
	case "end":
		var reason struct {
			Code    fault.Code `json:"code"`
			Message string     `json:"message"`
		}
		if err := json.Unmarshal([]byte(data), &reason); err != nil {
			f.err = fmt.Errorf("decoding the end of the event stream: %w", err)
			return
		}
		f.err = fault.New(reason.Code, reason.Message)
	}
}

// result returns the last state. Error: the reason for an early end.
func (f *follower) result() (*api.Analysis, error) { return f.last, f.err }
