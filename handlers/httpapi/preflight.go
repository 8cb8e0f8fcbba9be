package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"vqa/handlers/httpapi/api"
	"vqa/handlers/httpapi/edge"
)

// PreflightStep is a step of a test of the connection (docs/contract.md#preflight).
type PreflightStep struct {
	// ID identifies the test. It is empty at the start.
	ID string
	// Livemode is false for a test key.
	Livemode bool
	// Transport is the only way to try, such as "relay", or "any".
	Transport string
	// Offer starts the test.
	Offer string
	// Candidates of the client, more than those of the offer.
	Candidates []ICECandidate
}

// ICECandidate is an RTCIceCandidateInit.
type ICECandidate struct {
	Candidate        string
	SDPMid           *string
	SDPMLineIndex    *uint16
	UsernameFragment *string
}

// Preflight is a test of the connection.
type Preflight struct {
	ID         string
	ICEServers []ICEServer
	ExpiresAt  time.Time
	// Answer is the SDP answer, once there was an offer.
	Answer string
	// Report is the result, or nil.
	Report *PreflightReport
}

// PreflightReport is the result of a test.
type PreflightReport struct {
	Connected bool
	// UDP, TCP and Relay are the ways that worked, of those that the client has tried.
	UDP, TCP, Relay bool
	// Took is the time from the offer to the connection. It counts if Connected.
	Took            time.Duration
	LocalCandidates []string
	// Hint names the likely cause of a failure. It is empty if Connected.
	Hint string
}

// PreflightStream answers POST /v1/streams/preflight.
func (s *server) PreflightStream(ctx context.Context, r api.PreflightStreamRequestObject) (api.PreflightStreamResponseObject, error) {
	x := edge.ExchangeOf(ctx)
	step := PreflightStep{ID: given(r.Body.Id), Livemode: x.Caller.Livemode, Transport: string(given(r.Body.Transport)), Offer: given(r.Body.Sdp)}
	for _, c := range given(r.Body.Candidates) {
		step.Candidates = append(step.Candidates, ICECandidate{
			Candidate: c.Candidate, SDPMid: c.SdpMid, SDPMLineIndex: lineIndex(c.SdpMLineIndex), UsernameFragment: c.UsernameFragment,
		})
	}
	state, node, err := s.Live.Preflight(ctx, x.Caller.AccountID, step)
	if err != nil {
		return nil, err
	}
	if node != "" {
		return s.elsewhere(x.Request, r.Body, node)
	}
	return api.PreflightStream200JSONResponse(renderPreflight(state)), nil
}

// lineIndex converts a number that the edge has checked.
func lineIndex(n *int) *uint16 {
	if n == nil {
		return nil
	}
	return new(uint16(*n)) //nolint:gosec // 0 to 65535
}

// elsewhere passes a request on, with the body that was read from it.
func (s *server) elsewhere(r *http.Request, body any, node string) (liveResponse, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	return func(w http.ResponseWriter) error { return s.Live.Forward(w, r, node) }, nil
}

// VisitPreflightStreamResponse implements the response of PreflightStream.
func (write liveResponse) VisitPreflightStreamResponse(w http.ResponseWriter) error { return write(w) }

func renderPreflight(p Preflight) api.StreamPreflight {
	out := api.StreamPreflight{
		Object: api.StreamPreflightObjectStreamPreflight, Id: p.ID, ExpiresAt: stamp(p.ExpiresAt), IceServers: *renderICEServers(p.ICEServers),
	}
	if p.Answer != "" {
		out.Sdp = &p.Answer
	}
	if r := p.Report; r != nil {
		out.Report = &api.PreflightReport{
			Connected: r.Connected, Udp: r.UDP, Tcp: r.TCP, Relay: r.Relay, LocalCandidates: append([]string{}, r.LocalCandidates...),
		}
		if r.Connected {
			out.Report.ConnectMs = new(int(r.Took.Milliseconds()))
		} else {
			out.Report.Hint = &r.Hint
		}
	}
	return out
}
