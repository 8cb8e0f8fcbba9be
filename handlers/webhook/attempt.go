package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"vqa/domain/id"
	"vqa/domain/webhook"
	"vqa/handlers/command"
	"vqa/handlers/intake/egress"
	"vqa/projections/deliveries"
)

// Poster sends one request.
type Poster interface {
	Post(ctx context.Context, url string, header http.Header, body []byte) (egress.Response, error)
}

// Secrets decrypts the secrets of endpoints.
type Secrets interface {
	Open(secret webhook.Secret, endpointID string) ([]byte, error)
}

// errInterrupted means that an attempt ended without a result, because its node must stop.
var errInterrupted = errors.New("the attempt was interrupted")

// errUnsigned is the error of an attempt whose secret could not be decrypted. It is an error of the
// service, and the delivery is tried again.
var errUnsigned = errors.New("the service could not sign the request")

// finished is a claimed delivery with its result.
type finished struct {
	deliveries.Result
	// ending is the outcome for the log, or nil when the delivery waits again.
	ending *command.Ending
	cause  command.Cause
}

// attempt makes the attempt of a claim, given the endpoints of its account. It returns errInterrupted
// when ctx ended.
func (d *Dispatcher) attempt(ctx context.Context, c deliveries.Claimed, endpoints webhook.State) (finished, error) {
	f := finished{
		Result: deliveries.Result{EventID: c.EventID, Target: c.Target, DeliveryID: c.DeliveryID, Attempt: c.Attempt},
		cause:  causeOf(c),
	}
	endpoint, known := endpoints.Endpoint(c.Target)
	switch {
	case c.Body == nil:
		return f.dead(c, webhook.ResourceDeleted), nil
	case webhook.IsOverride(c.Target):
		endpoint = webhook.Endpoint{URL: c.URL}
	case !known:
		return f.dead(c, webhook.EndpointDeleted), nil
	case !endpoint.Enabled():
		return f.dead(c, webhook.EndpointDisabled), nil
	}
	response, err := d.send(ctx, &f, endpoint, c)
	if ctx.Err() != nil {
		return f, errInterrupted
	}
	accepted := response.Status >= 200 && response.Status <= 299 && err == nil
	d.note(c, f.StartedAt, accepted, err)
	if accepted {
		return f.delivered(c), nil
	}
	f.Error = new(reason(response, err))
	now := d.Now()
	at, ok := d.Schedule.Next(c.Step+1, now, retryAfter(response.RetryAfter, now), d.Random())
	if !ok {
		return f.dead(c, webhook.RetriesExhausted), nil
	}
	f.RetryAt = &at
	return f, nil
}

// note reports an attempt.
func (d *Dispatcher) note(c deliveries.Claimed, at time.Time, accepted bool, err error) {
	if d.Attempted == nil {
		return
	}
	outcome := Refused
	switch {
	case accepted:
		outcome = Accepted
	case err != nil:
		outcome = Unreached
	}
	began, ok := id.Time(c.EventID)
	if !ok {
		began = at
	}
	d.Attempted(c.Attempt, outcome, at.Sub(began))
}

// send makes one request and notes it in the result.
func (d *Dispatcher) send(ctx context.Context, f *finished, to webhook.Endpoint, c deliveries.Claimed) (egress.Response, error) {
	began := time.Now()
	f.Sent, f.StartedAt = true, d.Now()
	response, err := d.post(ctx, to, c, f.StartedAt)
	f.DurationUS = time.Since(began).Microseconds()
	if err == nil {
		f.Status, f.Snippet = &response.Status, &response.Snippet
	}
	return response, err
}

func (d *Dispatcher) post(ctx context.Context, to webhook.Endpoint, c deliveries.Claimed, at time.Time) (egress.Response, error) {
	var secrets [][]byte
	for _, sealed := range to.Signing(at) { // none for an override
		secret, err := d.Secrets.Open(sealed, to.ID)
		if err != nil {
			d.Log.ErrorContext(ctx, "cannot sign a delivery", "endpoint_id", to.ID, "error", err)
			return egress.Response{}, errUnsigned
		}
		secrets = append(secrets, secret)
	}
	header, err := newHeader(c.EventID, at, c.Body, secrets)
	if err != nil {
		return egress.Response{}, err
	}
	return d.Poster.Post(ctx, to.URL, header, c.Body)
}

// reason says in words why an attempt failed.
func reason(r egress.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	if r.Status >= 300 && r.Status <= 399 {
		return fmt.Sprintf("the server responded with status %d; redirects are not followed", r.Status)
	}
	return fmt.Sprintf("the server responded with status %d", r.Status)
}

// delivered ends a delivery that the receiver accepted.
func (f finished) delivered(c deliveries.Claimed) finished {
	f.Delivered = true
	f.ending = &command.Ending{DeliveryKey: keyOf(c), Attempt: c.Attempt, Status: *f.Status, Cause: f.cause}
	return f
}

// dead ends a delivery for a reason.
func (f finished) dead(c deliveries.Claimed, why webhook.DeathReason) finished {
	attempts := c.Attempt
	if !f.Sent {
		attempts--
	}
	f.DeadReason = new(string(why))
	f.ending = &command.Ending{DeliveryKey: keyOf(c), Attempt: attempts, Reason: why, Cause: f.cause}
	return f
}

func keyOf(c deliveries.Claimed) webhook.DeliveryKey {
	return webhook.DeliveryKey{DeliveryID: c.DeliveryID, AccountID: c.AccountID, EventID: c.EventID, Target: c.Target}
}

// causeOf returns the public event as the cause of an outcome.
func causeOf(c deliveries.Claimed) command.Cause {
	if c.Position == 0 {
		return command.Cause{} // a test delivery has no event in the log
	}
	return command.CausedAt(c.Position, c.RequestID, c.CorrelationID)
}
