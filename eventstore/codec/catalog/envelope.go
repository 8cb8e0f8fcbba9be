package main

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vqa/domain/account"
	"vqa/eventstore"
	"vqa/eventstore/codec"
	"vqa/eventstore/fold"
)

// columns describes the columns of the table events.
var columns = []row{
	{Name: "position", Type: "bigint", Text: "the place in the whole log, > 0, ascending, possibly with gaps"},
	{Name: "stream", Type: "text", Text: "`category/id` of the aggregate that the event belongs to"},
	{Name: "version", Type: "bigint", Text: "the place in the stream: 1, 2, 3, … without gaps"},
	{Name: "type", Type: "text", Text: "the stored name; from version 2 on it ends with the version, `name@2`"},
	{Name: "account_id", Type: "text", Text: "the account that the event belongs to"},
	{Name: "data", Type: "json", Text: "the payload, stored byte for byte as it was written"},
	{Name: "meta", Type: "json", Text: "who caused the event, and how; stored byte for byte as it was written"},
	{Name: "recorded_at", Type: "timestamptz", Text: "the time of the append, by the clock of the database"},
	{Name: "chain", Type: "bytea", Text: "32 bytes: the hash of the stream up to this event"},
	{Name: "mac", Type: "bytea", Text: "40 bytes: the id of a key outside the database, and an HMAC of the event with it"},
}

// linkForm is the version of the format of the canonical bytes (codec.Link).
const linkForm = "vqa-event-1"

// example is an event with its canonical bytes.
type example struct {
	Form      string
	Row       []row
	Canonical string
}

// chainExample makes the canonical bytes as the page describes them, without the code of the
// service, and compares the hashes. Error: they differ.
func chainExample(c *codec.Codec) (example, error) {
	const id = "acct_01KA4Z0V3Q8Y5T2M7N6P9R1S0W"
	encoded, err := c.Encode(eventstore.Batch{Writes: []eventstore.Write{{
		Stream: fold.Account.Stream(id),
		Events: []eventstore.NewEvent{{
			Event: account.Opened{AccountID: id, Tier: account.Paid, At: time.Date(2026, 3, 1, 12, 30, 0, 250000000, time.UTC)},
			Meta: eventstore.Meta{
				AccountID: id, RequestID: "req_01KA4Z0V3Q4B6C8D0E2F4G6H8J",
				CorrelationID: "req_01KA4Z0V3Q4B6C8D0E2F4G6H8J", CausationID: "req_01KA4Z0V3Q4B6C8D0E2F4G6H8J",
				Actor: "operator:Zoë",
			},
		}},
	}}})
	if err != nil {
		return example{}, err
	}
	e := encoded[0]
	parts := []row{
		{Name: "stream", Text: e.Stream.String()},
		{Name: "version", Text: strconv.FormatInt(e.Version, 10)},
		{Name: "type", Text: e.Type},
		{Name: "account_id", Text: e.AccountID},
		{Name: "data", Text: string(e.Data)},
		{Name: "meta", Text: string(e.Meta)},
	}
	var canonical strings.Builder
	fmt.Fprintf(&canonical, "%d:%s", len(linkForm), linkForm)
	for _, p := range parts {
		fmt.Fprintf(&canonical, "%d:%s", len(p.Text), p.Text)
	}
	before := eventstore.Chain{}
	chain := eventstore.Chain(sha256.Sum256(append(before[:], canonical.String()...)))
	if chain != e.Chain {
		return example{}, fmt.Errorf("the canonical bytes of an event differ from the format %s: change the page and chainExample", linkForm)
	}
	return example{Form: linkForm, Row: append(parts, row{Name: "chain", Text: chain.String()}), Canonical: canonical.String()}, nil
}
