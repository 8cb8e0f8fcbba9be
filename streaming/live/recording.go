package live

import (
	"vqa/domain/fault"
	"vqa/domain/stream"
	"vqa/streaming/message"
)

// record opens the recorder of the session. A recording that fails is visible to the client at once, and does not end
// the stream.
func (s *Session) record(st stream.State) {
	r, err := s.host.options.Record(st, Recording{
		Stored: func(p stream.Part) { s.clerk.push(stream.RecordPart{Node: s.node, Part: p}) },
		Failed: s.failRecording,
		Full: func(f *fault.Fault) {
			s.fan.keep(message.Error{Code: f.Code, Message: "The recording ends here, and the stream goes on. " + f.Message})
		},
	})
	if err != nil {
		s.failRecording(err)
		return
	}
	s.recorder = r
}

// failRecording records that the recording failed and tells the client. Only a fault shows its text.
func (s *Session) failRecording(err error) {
	s.host.options.Logger.Error("the recording of a live stream failed", "stream_id", s.id, "error", err)
	failure := stream.RecordingFailure{Code: string(fault.UpstreamError), Message: "The recording could not be stored."}
	if f := fault.Of(err); f != nil {
		failure = stream.RecordingFailure{Code: string(f.Code), Message: f.Message}
	}
	s.clerk.push(stream.FailRecording{Node: s.node, Failure: failure})
	s.fan.keep(message.Error{Code: fault.Code(failure.Code), Message: "The recording failed, and the stream goes on. " + failure.Message})
}
