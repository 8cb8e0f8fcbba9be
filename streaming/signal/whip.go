package signal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"vqa/domain/fault"
	"vqa/streaming/message"
)

// The types of the bodies of WHIP.
const (
	typeSDP      = "application/sdp"
	typeFragment = "application/trickle-ice-sdpfrag"
)

// whipSession is a session that was opened by WHIP.
type whipSession struct {
	session Session
	// offer is the latest one; a restart of ICE changes its credentials.
	offer string
	// tag is the entity tag of the ICE session.
	tag string
}

// WHIP serves the WHIP endpoint of a stream, which is also the resource of its session (RFC 9725): POST
// with an offer, PATCH with candidates or a restart of ICE, DELETE to end the stream. A request that is
// refused has no response yet and returns an error.
func (s *Server) WHIP(w http.ResponseWriter, r *http.Request, streamID string) error {
	ctx, cancel := context.WithTimeout(r.Context(), 2*s.Call) // to find the stream, and to ask its session
	defer cancel()
	r = r.WithContext(ctx)
	place, err := s.place(ctx, streamID)
	if err != nil {
		return err
	}
	switch {
	case place.Ended != "" && r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusOK)
		return nil
	case place.Ended != "":
		return fault.Newf(fault.ResourceConflict, "The stream has ended: %s.", place.Ended)
	case place.Queued != nil && r.Method == http.MethodDelete:
		return s.Streams.End(ctx, streamID)
	case place.Queued != nil:
		return queued(*place.Queued)
	case place.Session == nil && place.Node != "":
		return s.forward(w, r, place.Node)
	case place.Session == nil:
		return fault.New(fault.CapacityExhausted, "The stream is being opened. Try again.").WithRetryAfter(1)
	}
	switch r.Method {
	case http.MethodPost:
		return s.whipOffer(w, r, streamID, place)
	case http.MethodPatch:
		return s.whipPatch(w, r, streamID, place.Session)
	case http.MethodDelete:
		if err := place.Session.End(ctx); err != nil && fault.Of(err) == nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		w.WriteHeader(http.StatusOK)
		return nil
	default:
		w.Header().Set("Allow", "POST, PATCH, DELETE")
		return &StatusError{http.StatusMethodNotAllowed, fault.Newf(fault.ValidationFailed, "The WHIP endpoint does not accept %s.", r.Method)}
	}
}

// queued refuses an offer for a stream without a slot. The client tries again.
func queued(q message.Queued) error {
	wait := 5
	if q.EstimatedStartS != nil {
		wait = min(*q.EstimatedStartS, 60)
	}
	return fault.Newf(fault.CapacityExhausted, "The stream waits for a slot, at position %d. Send the offer again later.", q.Position).WithRetryAfter(wait)
}

func (s *Server) whipOffer(w http.ResponseWriter, r *http.Request, streamID string, place Place) error {
	offer, err := body(w, r, typeSDP, message.MaxOffer)
	if err != nil {
		return err
	}
	if offer == "" {
		return fault.New(fault.ValidationFailed, "The body is empty. Send an SDP offer.")
	}
	answer, err := place.Session.Answer(r.Context(), "whip", offer)
	if err != nil {
		return err
	}
	ws := &whipSession{session: place.Session, offer: offer, tag: tagOf(offer, answer)}
	s.keepWHIP(streamID, ws)
	h := w.Header()
	h.Set("Content-Type", typeSDP)
	h.Set("Location", r.URL.Path)
	h.Set("ETag", ws.tag)
	h.Set("Accept-Patch", typeFragment)
	for _, link := range iceLinks(place.Ready.ICEServers) {
		h.Add("Link", link)
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, answer) // the client that is gone has no use for an error
	return nil
}

// keepWHIP keeps a session for PATCH until it is over.
func (s *Server) keepWHIP(streamID string, ws *whipSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.whip[streamID]
	s.whip[streamID] = ws
	if s.closed || before != nil && before.session == ws.session {
		return // its goroutine forgets the new one too
	}
	s.running.Go(func() {
		select {
		case <-ws.session.Done():
		case <-s.ctx.Done():
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if now := s.whip[streamID]; now != nil && now.session == ws.session {
			delete(s.whip, streamID)
		}
	})
}

// whipOf returns the session that a PATCH is about. Errors: resource_not_found, and 412 or 428 when the
// entity tag does not match.
func (s *Server) whipOf(r *http.Request, streamID string, session Session, restart bool) (whipSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ws := s.whip[streamID]
	if ws == nil || ws.session != session {
		return whipSession{}, fault.New(fault.ResourceNotFound, "The stream has no WHIP session. Send an offer with POST first.")
	}
	switch tag := r.Header.Get("If-Match"); {
	case tag == "":
		return whipSession{}, &StatusError{http.StatusPreconditionRequired, fault.New(fault.ValidationFailed, "Send If-Match with the ETag of the session, or * to restart ICE.").WithParam("If-Match")}
	case tag != ws.tag && (tag != "*" || !restart):
		return whipSession{}, &StatusError{http.StatusPreconditionFailed, fault.New(fault.ResourceConflict, "The ICE session has changed: If-Match is not its ETag.").WithParam("If-Match")}
	}
	return *ws, nil
}

func (s *Server) whipPatch(w http.ResponseWriter, r *http.Request, streamID string, session Session) error {
	text, err := body(w, r, typeFragment, maxFragment)
	if err != nil {
		return err
	}
	f, err := parseFragment(text)
	if err != nil {
		return err
	}
	s.mu.Lock()
	known := s.whip[streamID]
	restart := known != nil && f.ufrag != "" && f.ufrag != attribute(known.offer, "ice-ufrag:")
	s.mu.Unlock()
	ws, err := s.whipOf(r, streamID, session, restart)
	if err != nil {
		return err
	}
	if restart {
		return s.whipRestart(w, r, streamID, ws, f)
	}
	if err := addAll(session, f); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// whipRestart restarts ICE: it repeats the offer with the new credentials.
func (s *Server) whipRestart(w http.ResponseWriter, r *http.Request, streamID string, ws whipSession, f fragment) error {
	offer := restarted(ws.offer, f)
	answer, err := ws.session.Answer(r.Context(), "whip", offer)
	if err != nil {
		return err
	}
	tag := tagOf(offer, answer)
	s.keepWHIP(streamID, &whipSession{session: ws.session, offer: offer, tag: tag})
	if err := addAll(ws.session, f); err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeFragment)
	w.Header().Set("ETag", tag)
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, fragmentOf(answer)) // the client that is gone has no use for an error
	return nil
}

func addAll(session Session, f fragment) error {
	for _, c := range f.candidates {
		if err := session.AddCandidate(c); err != nil {
			return err
		}
	}
	if f.complete {
		return session.AddCandidate(message.Candidate{})
	}
	return nil
}

// body reads a body of one type.
func body(w http.ResponseWriter, r *http.Request, want string, most int64) (string, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != want {
		return "", fault.Newf(fault.UnsupportedMediaType, "Send the body as %s.", want)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return "", fault.Newf(fault.PayloadTooLarge, "The body has more than %d bytes.", most)
	case err != nil:
		return "", fault.New(fault.ValidationFailed, "The body is incomplete.").WithCause(err)
	}
	return string(raw), nil
}

// iceLinks returns the Link headers of ICE servers (RFC 9725, section 4.6).
func iceLinks(servers []message.ICEServer) []string {
	var links []string
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, server := range servers {
		for _, url := range server.URLs {
			link := fmt.Sprintf(`<%s>; rel="ice-server"`, url)
			if server.Username != nil && server.Credential != nil {
				link += fmt.Sprintf(`; username="%s"; credential="%s"; credential-type="password"`, quote.Replace(*server.Username), quote.Replace(*server.Credential))
			}
			links = append(links, link)
		}
	}
	return links
}
