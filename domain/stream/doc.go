// Package stream decides the life of a live stream, which answers a question about video that arrives
// over WebRTC.
//
// # States (docs/contract.md#stream-states)
//
//	state                   | command              | next      | event
//	(none)                  | Create               | queued    | stream.created
//	(none)                  | any                  | unchanged | refused with resource_not_found
//	any                     | Create               | unchanged | refused with resource_conflict
//	ended                   | End                  | unchanged | (none)
//	ended                   | DeleteRecording      | unchanged | (none)
//	ended                   | any                  | unchanged | refused with resource_conflict
//	any                     | UpdatePrompt         | unchanged | stream.prompt_updated
//	any                     | End                  | ended     | stream.ended
//	queued                  | GrantSlot            | ready     | stream.slot_granted
//	ready, offered          | GrantSlot            | ready     | stream.slot_granted
//	silent, running, paused | GrantSlot            | unchanged | refused with resource_conflict
//	ready                   | Offer                | offered   | stream.offered
//	offered                 | Offer                | unchanged | (none)
//	silent, running, paused | Offer                | unchanged | stream.offered
//	offered                 | GoLive               | silent    | stream.live
//	silent, paused          | Resume               | running   | stream.resumed
//	running                 | Resume               | unchanged | (none)
//	running                 | Pause                | paused    | stream.paused
//	silent, paused          | Pause                | unchanged | (none)
//	silent, running, paused | Meter                | unchanged | stream.metered
//	silent, running, paused | RecordPart           | unchanged | stream.part_recorded
//	queued                  | FailRecording        | unchanged | refused with resource_conflict
//	any                     | FailRecording        | unchanged | stream.recording_failed
//	any                     | any                  | unchanged | refused with resource_conflict
//
// The first row that fits applies.
//
//   - "ready" and "offered" have the status ready. The second has an answered offer, and ICE runs.
//   - "silent", "running" and "paused" have the status live. The clock of the first has not run yet. The
//     live clock of the second runs.
//   - The GrantSlot of the table names another node than the owner. Repeated for the owner, it has no
//     event.
//   - A prompt that repeats the latest one, a heartbeat that says nothing new, and a part that is
//     already recorded have no event.
//   - A failed recording stays failed, and gets no parts. The stream goes on. A failure that repeats has no
//     event.
//   - DeleteRecording of a recording that exists has the event stream.recording_deleted. It is the only change
//     of an ended stream. Without `recording`, it is refused with resource_not_found.
//   - An offer of a live stream is a restart of ICE, for example after a change of network.
//
// # End reasons
//
// A reason must fit the state (docs/contract.md#end-reasons). The first row that fits applies.
//
//	end                     | command              | next      | event
//	queued, ready, offered  | canceled             | ended     | stream.ended
//	offered                 | ice_failed           | ended     | stream.ended
//	silent, running, paused | completed            | ended     | stream.ended
//	silent, running, paused | timeout              | ended     | stream.ended
//	silent, running, paused | insufficient_credits | ended     | stream.ended
//	silent, running, paused | media_timeout        | ended     | stream.ended
//	ended                   | any                  | unchanged | (none)
//	any                     | error                | ended     | stream.ended
//	any                     | any                  | unchanged | refused with resource_conflict
//
// Some reasons have more conditions:
//
//   - A client that ends a stream names no reason: the stream is completed if it was live, else canceled.
//   - A stream that sent a result does not end as media_timeout.
//   - A stream of test mode does not end as insufficient_credits.
//
// Deadline says when a stream ends unless something happens before, and with which reason.
//
// # Owner
//
// The node with the slot owns the stream. What happens on the connection is accepted from the owner only.
// Names of nodes are never used twice, so a node that was wrongly declared dead changes nothing later. The
// API may end a stream that it does not own, and so may a node that found the owner dead.
//
// # Clock and bill
//
// The live clock runs while complete frames arrive. The owner measures it and records it with each pause,
// heartbeat and end. The aggregate bounds it: it never falls, never exceeds the time since the stream went
// live, and never exceeds the longest session.
//
// A stream holds credits ahead, in slices: a credit.held when it is created, and a credit.extended for each
// later slice. Each heartbeat has the sum. The end bills the clock in whole seconds (Billable), together with
// one credit.settled. An end without the owner bills up to the last record of the clock. Test mode, a stream
// that was never live, and a media_timeout cost nothing.
//
// It may import the standard library, domain/fault, domain/query and domain/answer, never a sibling
// aggregate.
package stream
