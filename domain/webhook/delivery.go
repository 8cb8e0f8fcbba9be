package webhook

import (
	"fmt"
	"time"

	"vqa/domain/fault"
)

// DeliveryEvent is a fact about the outcome of a delivery.
type DeliveryEvent interface {
	EventType() string
	isDeliveryEvent()
}

// DeliveryKey says which event goes where.
type DeliveryKey struct {
	DeliveryID string `json:"delivery_id"`
	AccountID  string `json:"account_id"`
	// EventID is the public id of the event.
	EventID string `json:"event_id"`
	// Target is the id of the endpoint. For a per-request override it is "ov_" and a hash of
	// the account and the origin of the URL.
	Target string `json:"target"`
}

// Delivered says that a receiver accepted a delivery.
type Delivered struct {
	DeliveryID string `json:"delivery_id"`
	AccountID  string `json:"account_id"`
	// EventID is the public id of the event.
	EventID string `json:"event_id"`
	// Target is the id of the endpoint. For a per-request override it is "ov_" and a hash of
	// the account and the origin of the URL.
	Target string `json:"target"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Status is the HTTP status of the response, 200 to 299.
	Status int       `json:"status"`
	At     time.Time `json:"at"`
}

// Dead says that a delivery is not attempted again, unless it is requeued.
type Dead struct {
	DeliveryID string `json:"delivery_id"`
	AccountID  string `json:"account_id"`
	// EventID is the public id of the event.
	EventID string `json:"event_id"`
	// Target is the id of the endpoint. For a per-request override it is "ov_" and a hash of
	// the account and the origin of the URL.
	Target string `json:"target"`
	// Reason is why there is no further attempt.
	Reason DeathReason `json:"reason"`
	// Attempts is the number of attempts that were made. It may be 0.
	Attempts int       `json:"attempts"`
	At       time.Time `json:"at"`
}

// Requeued says that a delivery is attempted again at the request of its owner.
type Requeued struct {
	DeliveryID string `json:"delivery_id"`
	AccountID  string `json:"account_id"`
	// EventID is the public id of the event.
	EventID string `json:"event_id"`
	// Target is the id of the endpoint. For a per-request override it is "ov_" and a hash of
	// the account and the origin of the URL.
	Target string    `json:"target"`
	At     time.Time `json:"at"`
}

// DeathReason is why a delivery is dead.
type DeathReason string

// The reasons.
const (
	RetriesExhausted DeathReason = "retries_exhausted"
	EndpointDisabled DeathReason = "endpoint_disabled"
	EndpointDeleted  DeathReason = "endpoint_deleted"
	// ResourceDeleted means that the resource of the event was deleted, and its body with it.
	ResourceDeleted DeathReason = "resource_deleted"
)

// EventType returns the stored name.
func (Delivered) EventType() string { return "delivery.delivered" }

// EventType returns the stored name.
func (Dead) EventType() string { return "delivery.dead" }

// EventType returns the stored name.
func (Requeued) EventType() string { return "delivery.requeued" }

func (Delivered) isDeliveryEvent() {}
func (Dead) isDeliveryEvent()      {}
func (Requeued) isDeliveryEvent()  {}

// Outcome is how a delivery ended.
type Outcome string

// The outcomes. A delivery that waits for an attempt has none.
const (
	Waiting     Outcome = ""
	IsDelivered Outcome = "delivered"
	IsDead      Outcome = "dead"
)

// Delivery is the outcome of a delivery. The zero Delivery waits for its first attempt.
type Delivery struct {
	DeliveryKey
	Outcome Outcome `json:"outcome,omitempty"`
	// Reason is empty unless the delivery is dead.
	Reason DeathReason `json:"reason,omitempty"`
	// Attempts is the number of attempts up to the last event.
	Attempts int `json:"attempts,omitempty"`
	// EndedAt is nil while the delivery waits.
	EndedAt *time.Time `json:"ended_at,omitempty"`
}

// EvolveDelivery folds one event into the state. It panics on an unknown event.
func EvolveDelivery(d Delivery, event DeliveryEvent) Delivery {
	switch e := event.(type) {
	case Delivered:
		key := DeliveryKey{e.DeliveryID, e.AccountID, e.EventID, e.Target}
		return Delivery{DeliveryKey: key, Outcome: IsDelivered, Attempts: e.Attempt, EndedAt: &e.At}
	case Dead:
		key := DeliveryKey{e.DeliveryID, e.AccountID, e.EventID, e.Target}
		return Delivery{DeliveryKey: key, Outcome: IsDead, Reason: e.Reason, Attempts: e.Attempts, EndedAt: &e.At}
	case Requeued:
		key := DeliveryKey{e.DeliveryID, e.AccountID, e.EventID, e.Target}
		return Delivery{DeliveryKey: key, Attempts: d.Attempts}
	default:
		panic(fmt.Sprintf("webhook: unknown event %T", event))
	}
}

// DeliveryCommand is a request to record the outcome of a delivery.
type DeliveryCommand interface{ isDeliveryCommand() }

// Deliver records that a receiver accepted a delivery.
type Deliver struct {
	DeliveryKey
	// Attempt is the number of the attempt, from 1.
	Attempt int
	// Status is the HTTP status of the response.
	Status int
}

// Bury records that a delivery is not attempted again.
type Bury struct {
	DeliveryKey
	Reason DeathReason
	// Attempts is the number of attempts that were made.
	Attempts int
}

// Requeue makes a delivery be attempted again at once. The body and the id of the event stay
// the same.
type Requeue struct{ DeliveryKey }

func (Deliver) isDeliveryCommand() {}
func (Bury) isDeliveryCommand()    {}
func (Requeue) isDeliveryCommand() {}

// DecideDelivery returns the events of a command. Error: resource_conflict for the requeue of
// a delivered delivery.
func DecideDelivery(d Delivery, command DeliveryCommand, now time.Time) ([]DeliveryEvent, error) {
	switch c := command.(type) {
	case Deliver:
		if d.Outcome == IsDelivered {
			return nil, nil
		}
		return []DeliveryEvent{Delivered{c.DeliveryID, c.AccountID, c.EventID, c.Target, c.Attempt, c.Status, now}}, nil
	case Bury:
		if d.Outcome != Waiting {
			return nil, nil
		}
		return []DeliveryEvent{Dead{c.DeliveryID, c.AccountID, c.EventID, c.Target, c.Reason, c.Attempts, now}}, nil
	case Requeue:
		if d.Outcome == IsDelivered {
			return nil, fault.New(fault.ResourceConflict, "The delivery has already been delivered. You can redeliver a failed or dead one.")
		}
		return []DeliveryEvent{Requeued{c.DeliveryID, c.AccountID, c.EventID, c.Target, now}}, nil
	default:
		panic(fmt.Sprintf("webhook: unknown command %T", command))
	}
}
