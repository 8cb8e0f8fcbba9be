package feed

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"vqa/eventstore"
	"vqa/eventstore/codec"
)

// stored is a row of the table events.
type stored struct {
	position, version     int64
	stream, kind, account string
	data, meta            []byte
	at                    time.Time
	chain, mac            []byte
	// attempts counts the attempts of an event that was set aside.
	attempts int
}

// The metadata keys of a message. The correlation id has Watermill's own key, so that its middlewares
// find it.
const (
	keyPosition    = "position"
	keyStream      = "stream"
	keyVersion     = "version"
	keyType        = "type"
	keyAccount     = "account_id"
	keyMeta        = "meta"
	keyRecordedAt  = "recorded_at"
	keyChain       = "chain"
	keyMAC         = "mac"
	keyReplay      = "replay"   // the id of the replay that delivers it
	keyAttempts    = "attempts" // the attempts of an event that was set aside
	keyCorrelation = middleware.CorrelationIDMetadataKey
)

// message returns the event as a Watermill message. Its payload is the event's payload. Everything
// else is metadata.
func (r stored) message() *message.Message {
	msg := message.NewMessage(strconv.FormatInt(r.position, 10), r.data)
	msg.Metadata = message.Metadata{
		keyPosition:   strconv.FormatInt(r.position, 10),
		keyStream:     r.stream,
		keyVersion:    strconv.FormatInt(r.version, 10),
		keyType:       r.kind,
		keyAccount:    r.account,
		keyMeta:       string(r.meta),
		keyRecordedAt: r.at.UTC().Format(time.RFC3339Nano),
		keyChain:      hex.EncodeToString(r.chain),
		keyMAC:        hex.EncodeToString(r.mac),
		keyAttempts:   strconv.Itoa(r.attempts),
	}
	if meta, err := codec.UnmarshalMeta(r.account, r.meta); err == nil {
		msg.Metadata.Set(keyCorrelation, meta.CorrelationID)
	}
	return msg
}

// fromMessage is the inverse of stored.message. It also decodes the event.
func fromMessage(c *codec.Codec, msg *message.Message) (eventstore.Recorded, error) {
	fail := func(err error) (eventstore.Recorded, error) {
		return eventstore.Recorded{}, fmt.Errorf("event at position %s: %w", msg.UUID, err)
	}
	position, err := strconv.ParseInt(msg.Metadata.Get(keyPosition), 10, 64)
	if err != nil {
		return fail(err)
	}
	version, err := strconv.ParseInt(msg.Metadata.Get(keyVersion), 10, 64)
	if err != nil {
		return fail(err)
	}
	at, err := time.Parse(time.RFC3339Nano, msg.Metadata.Get(keyRecordedAt))
	if err != nil {
		return fail(err)
	}
	chain, err := hex.DecodeString(msg.Metadata.Get(keyChain))
	if err != nil || len(chain) != len(eventstore.Chain{}) {
		return fail(fmt.Errorf("%q is not a chain: %w", msg.Metadata.Get(keyChain), err))
	}
	stream, err := codec.ParseStreamID(msg.Metadata.Get(keyStream))
	if err != nil {
		return fail(err)
	}
	meta, err := codec.UnmarshalMeta(msg.Metadata.Get(keyAccount), []byte(msg.Metadata.Get(keyMeta)))
	if err != nil {
		return fail(err)
	}
	event, err := c.Unmarshal(msg.Metadata.Get(keyType), msg.Payload)
	if err != nil {
		return fail(err)
	}
	return eventstore.Recorded{
		Position: position, Stream: stream, Version: version, Event: event, Meta: meta, RecordedAt: at,
		Chain: eventstore.Chain(chain),
	}, nil
}

// checkMessage checks that the service wrote the event of a message. A forged event is undecodable, so
// that it is parked at once; another error is worth another attempt.
func checkMessage(msg *message.Message, check Check) error {
	fail := func(err error) error {
		return &undecodableError{fmt.Errorf("event at position %s: %w", msg.UUID, err)}
	}
	meta := msg.Metadata
	position, err := strconv.ParseInt(meta.Get(keyPosition), 10, 64)
	if err != nil {
		return fail(err)
	}
	version, err := strconv.ParseInt(meta.Get(keyVersion), 10, 64)
	if err != nil {
		return fail(err)
	}
	stream, err := codec.ParseStreamID(meta.Get(keyStream))
	if err != nil {
		return fail(err)
	}
	chain, err := hex.DecodeString(meta.Get(keyChain))
	if err != nil || len(chain) != len(eventstore.Chain{}) {
		return fail(fmt.Errorf("%q is not a chain: %w", meta.Get(keyChain), err))
	}
	mac, err := hex.DecodeString(meta.Get(keyMAC))
	if err != nil {
		return fail(err)
	}
	err = check(codec.Encoded{
		Stream: stream, Version: version, Type: meta.Get(keyType), Data: msg.Payload, AccountID: meta.Get(keyAccount),
		Meta: []byte(meta.Get(keyMeta)), Chain: eventstore.Chain(chain),
	}, position, mac)
	var forged *eventstore.ForgedError
	if errors.As(err, &forged) {
		return &undecodableError{err}
	}
	return err
}
