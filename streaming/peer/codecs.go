package peer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"

	"vqa/streaming/assemble"
)

// OfferError says why an offer of a client cannot be answered. The text is for the client.
type OfferError struct{ Message string }

// Error implements error.
func (e *OfferError) Error() string { return e.Message }

// preferred lists the codecs, best first. Every browser must offer H.264, and its decoder is the
// fastest.
var preferred = []assemble.Codec{assemble.H264, assemble.VP8, assemble.VP9}

// profiles of H.264 that are registered, best first: constrained baseline, baseline, main, high.
// Browsers send the first, aiortc the second.
var profiles = []string{"42e01f", "42001f", "4d001f", "64001f"}

// orientation is the header extension that says how a picture is rotated (3GPP TS 26.114, section 7.4.5).
const orientation = "urn:3gpp:video-orientation"

// mediaEngine registers the codecs, each with retransmission.
func mediaEngine() (*webrtc.MediaEngine, error) {
	engine := &webrtc.MediaEngine{}
	feedback := []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}, {Type: "ccm", Parameter: "fir"}}
	next := webrtc.PayloadType(96)
	register := func(mime, format string) error {
		codec := webrtc.RTPCodecParameters{
			RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: mime, ClockRate: assemble.ClockRate, SDPFmtpLine: format, RTCPFeedback: feedback},
			PayloadType:        next,
		}
		repair := webrtc.RTPCodecParameters{
			RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeRTX, ClockRate: assemble.ClockRate, SDPFmtpLine: fmt.Sprintf("apt=%d", next)},
			PayloadType:        next + 1,
		}
		next += 2
		if err := engine.RegisterCodec(codec, webrtc.RTPCodecTypeVideo); err != nil {
			return err
		}
		return engine.RegisterCodec(repair, webrtc.RTPCodecTypeVideo)
	}
	for _, profile := range profiles {
		for mode := 1; mode >= 0; mode-- {
			format := fmt.Sprintf("level-asymmetry-allowed=1;packetization-mode=%d;profile-level-id=%s", mode, profile)
			if err := register(webrtc.MimeTypeH264, format); err != nil {
				return nil, err
			}
		}
	}
	if err := register(webrtc.MimeTypeVP8, ""); err != nil {
		return nil, err
	}
	if err := register(webrtc.MimeTypeVP9, "profile-id=0"); err != nil {
		return nil, err
	}
	// Without it, Chromium sends no picture of a turned camera.
	if err := engine.RegisterHeaderExtension(webrtc.RTPHeaderExtensionCapability{URI: orientation}, webrtc.RTPCodecTypeVideo); err != nil {
		return nil, err
	}
	return engine, webrtc.ConfigureSimulcastExtensionHeaders(engine)
}

// codecOf returns the codec with a MIME type, or 0.
func codecOf(mime string) assemble.Codec {
	for _, c := range preferred {
		if strings.EqualFold(mime, "video/"+c.String()) {
			return c
		}
	}
	return 0
}

// maxSections bounds the sections of an offer. A browser that has replaced its video many times has one for each.
const maxSections = 32

// checkOffer finds the problems that pion does not report. It returns the offer with one layer of each video, and the
// number of candidates.
func checkOffer(offer string) (single string, candidates int, err error) {
	var s sdp.SessionDescription
	if err := s.UnmarshalString(offer); err != nil {
		return "", 0, &OfferError{"The field sdp is not a valid session description: " + err.Error() + "."}
	}
	if n := len(s.MediaDescriptions); n > maxSections {
		return "", 0, &OfferError{fmt.Sprintf("The offer has %d media sections. At most %d are allowed.", n, maxSections)}
	}
	if candidates = candidatesOf(s); candidates > maxCandidates {
		return "", 0, &OfferError{fmt.Sprintf("The offer has %d candidates. At most %d are allowed.", candidates, maxCandidates)}
	}
	if err := checkVideos(s); err != nil {
		return "", 0, err
	}
	for _, m := range s.MediaDescriptions {
		oneLayer(m)
	}
	b, err := s.Marshal()
	return string(b), candidates, err
}

// oneLayer removes all layers of a simulcast (RFC 8853) but the last one that is not paused. Browsers scale it down least.
// The client then sends no other. Only a layer needs the extensions that name it: with them, pion wants a name in the
// packets of each client.
func oneLayer(m *sdp.MediaDescription) {
	layer := ""
	for _, a := range m.Attributes {
		_, sent, _ := strings.Cut(" "+a.Value, " send ")
		if a.Key != "simulcast" || sent == "" {
			continue
		}
		sent, _, _ = strings.Cut(sent, " ")
		for one := range strings.SplitSeq(sent, ";") {
			one, _, _ = strings.Cut(one, ",")
			if layer == "" || !strings.HasPrefix(one, "~") {
				layer = strings.TrimPrefix(one, "~")
			}
		}
	}
	m.Attributes = slices.DeleteFunc(m.Attributes, func(a sdp.Attribute) bool {
		switch a.Key {
		case "simulcast":
			return true
		case "rid":
			return layer == "" || !strings.HasPrefix(a.Value, layer+" send")
		case "extmap":
			return layer == "" && strings.Contains(a.Value, ":sdes:")
		}
		return false
	})
	if layer != "" {
		m.WithValueAttribute("simulcast", "send "+layer)
	}
}

// candidatesOf counts the candidates in a description. Bundled sections repeat them.
func candidatesOf(s sdp.SessionDescription) int {
	different := map[string]bool{}
	for _, m := range s.MediaDescriptions {
		for _, a := range m.Attributes {
			if a.Key == "candidate" {
				different[a.Value] = true
			}
		}
	}
	return len(different)
}

// checkVideos checks that one section sends video.
func checkVideos(s sdp.SessionDescription) error {
	videos, sending, idle := 0, 0, ""
	for _, m := range s.MediaDescriptions {
		if m.MediaName.Media != "video" || m.MediaName.Port.Value == 0 {
			continue
		}
		videos++
		if direction := silent(m); direction != "" {
			idle = direction
		} else {
			sending++
		}
	}
	switch {
	case videos == 0:
		return &OfferError{"The offer has no video. Add a video track before you create it."}
	case sending == 0:
		return &OfferError{fmt.Sprintf("The video of the offer is %s, so it sends nothing. Use sendonly or sendrecv.", idle)}
	case sending > 1:
		return &OfferError{fmt.Sprintf("The offer has %d video sections that send. Offer one.", sending)}
	}
	return nil
}

// silent returns the direction of a section that sends nothing, or an empty string. A client that has replaced its
// video keeps the section of the old one.
func silent(m *sdp.MediaDescription) string {
	for _, direction := range []string{"recvonly", "inactive"} {
		if _, found := m.Attribute(direction); found {
			return direction
		}
	}
	return ""
}

// choose limits the answer to the best codec of the offer, so that the sender cannot change it
// later.
func choose(pc *webrtc.PeerConnection, h264Only bool, offer string) error {
	found := false
	for _, t := range pc.GetTransceivers() {
		if t.Kind() != webrtc.RTPCodecTypeVideo {
			continue
		}
		chosen := best(t.Receiver().GetParameters().Codecs, h264Only)
		if len(chosen) == 0 {
			continue
		}
		if err := t.SetCodecPreferences(chosen); err != nil {
			return err
		}
		found = true
	}
	if found {
		return nil
	}
	if h264Only {
		return &OfferError{"A stream with recording needs H.264, which the offer lacks. It has " + offeredCodecs(offer) + "."}
	}
	return &OfferError{"The offer has no codec that this service decodes: H.264, VP8 or VP9. It has " + offeredCodecs(offer) + "."}
}

// best returns the parameters of the best codec, or none.
func best(offered []webrtc.RTPCodecParameters, h264Only bool) []webrtc.RTPCodecParameters {
	for _, c := range preferred {
		if h264Only && c != assemble.H264 {
			break
		}
		if chosen := withRepair(offered, c); len(chosen) > 0 {
			return chosen
		}
	}
	return nil
}

// withRepair returns the parameters of a codec, best first, with their retransmissions.
func withRepair(offered []webrtc.RTPCodecParameters, c assemble.Codec) []webrtc.RTPCodecParameters {
	var chosen []webrtc.RTPCodecParameters
	for _, p := range offered {
		if codecOf(p.MimeType) == c {
			chosen = append(chosen, p)
		}
	}
	slices.SortStableFunc(chosen, func(a, b webrtc.RTPCodecParameters) int { return rank(a) - rank(b) })
	for _, p := range slices.Clone(chosen) {
		for _, repair := range offered {
			if strings.EqualFold(repair.MimeType, webrtc.MimeTypeRTX) && repair.SDPFmtpLine == fmt.Sprintf("apt=%d", p.PayloadType) {
				chosen = append(chosen, repair)
			}
		}
	}
	return chosen
}

// rank orders the forms of H.264: packetization mode 1 before 0, then by profile.
func rank(p webrtc.RTPCodecParameters) int {
	format := strings.ToLower(p.SDPFmtpLine)
	r := slices.IndexFunc(profiles, func(profile string) bool { return strings.Contains(format, "profile-level-id="+profile[:4]) })
	if !strings.Contains(format, "packetization-mode=1") {
		r += len(profiles)
	}
	return r
}

// offeredCodecs lists the video codecs of an offer for a message.
func offeredCodecs(offer string) string {
	var s sdp.SessionDescription
	var names []string
	if err := s.UnmarshalString(offer); err == nil {
		for _, m := range s.MediaDescriptions {
			for _, a := range m.Attributes {
				_, format, _ := strings.Cut(a.Value, " ")
				name, _, _ := strings.Cut(format, "/")
				auxiliary := slices.Contains([]string{"rtx", "red", "ulpfec", "flexfec-03"}, strings.ToLower(name))
				if m.MediaName.Media == "video" && a.Key == "rtpmap" && !auxiliary && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names[:min(len(names), 10)], ", ")
}
