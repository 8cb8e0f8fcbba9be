package command

import (
	"context"

	"vqa/domain/fault"
	"vqa/domain/webhook"
)

// Ending is the end of a delivery.
type Ending struct {
	webhook.DeliveryKey
	// Reason is why the delivery is dead. It is empty for a delivered one.
	Reason webhook.DeathReason
	// Attempt is the number of the last attempt. It is 0 when there was none.
	Attempt int
	// Status is the HTTP status that the receiver accepted a delivery with.
	Status int
	Cause  Cause
}

// dispatcherActor is the actor of events that the delivery of webhooks records.
const dispatcherActor = "webhooks"

// EndDelivery records how a delivery ended. It may be repeated.
func (s *Service) EndDelivery(ctx context.Context, e Ending) error {
	in := intent{accountID: e.AccountID, meta: s.systemMeta(e.Cause, e.AccountID, dispatcherActor)}
	in.streams = append(in.streams, webhookDeliveries.Stream(e.DeliveryID))
	return s.Pipeline.do(ctx, in, func(ss *session) error {
		var c webhook.DeliveryCommand = webhook.Deliver{DeliveryKey: e.DeliveryKey, Attempt: e.Attempt, Status: e.Status}
		if e.Reason != "" {
			c = webhook.Bury{DeliveryKey: e.DeliveryKey, Reason: e.Reason, Attempts: e.Attempt}
		}
		_, err := webhookDeliveries.record(ss, e.DeliveryID, c)
		return err
	})
}

// RequeueDeliveries makes failed and dead deliveries be attempted again at once, all in one transaction. The
// caller has found them among its own. It returns those that were requeued: one that was delivered meanwhile
// is left out.
func (s *Service) RequeueDeliveries(ctx context.Context, caller Caller, keys ...webhook.DeliveryKey) (requeued []webhook.DeliveryKey, err error) {
	in := caller.intent()
	for _, key := range keys {
		in.streams = append(in.streams, webhookDeliveries.Stream(key.DeliveryID))
	}
	err = s.Pipeline.do(ctx, in, func(ss *session) error {
		requeued = nil
		for _, key := range keys {
			_, err := webhookDeliveries.record(ss, key.DeliveryID, webhook.Requeue{DeliveryKey: key})
			switch {
			case err == nil:
				requeued = append(requeued, key)
			case !fault.Has(err, fault.ResourceConflict):
				return err
			}
		}
		return nil
	})
	return requeued, err
}
