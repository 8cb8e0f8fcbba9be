package signal

import (
	"vqa/streaming/live"
	"vqa/streaming/message"
	"vqa/streaming/peer"
)

// Live returns the session of a stream that this node runs.
func Live(s *live.Session) Session { return liveSession{s} }

type liveSession struct{ *live.Session }

func (s liveSession) AddCandidate(c message.Candidate) error {
	return s.Session.AddCandidate(peer.Candidate(c))
}

func (s liveSession) Report(errors ...message.ICEError) {
	for _, e := range errors {
		s.Session.Report(peer.ClientError(e))
	}
}

func (s liveSession) Subscribe(after int64) Subscription { return s.Session.Subscribe(after) }
