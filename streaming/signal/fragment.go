package signal

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"vqa/domain/fault"
	"vqa/streaming/message"
)

// maxFragment is the length of the largest SDP fragment, in bytes: 64 candidates of 250 bytes.
const maxFragment = 16 << 10

// fragment is an SDP fragment of trickle ICE (RFC 8840, section 9).
type fragment struct {
	ufrag, pwd string
	candidates []message.Candidate
	// complete is true when no candidates follow.
	complete bool
}

// parseFragment reads what a WHIP client sent. All media are bundled, so that the credentials of the
// session and of a media section are the same.
func parseFragment(text string) (fragment, error) {
	var f fragment
	var mid *string
	var line *uint16
	sections := uint16(0)
	for raw := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(raw, "\r\n"), ":")
		switch key {
		case "a=ice-ufrag":
			f.ufrag = value
		case "a=ice-pwd":
			f.pwd = value
		case "a=mid":
			mid = new(value)
		case "a=candidate":
			f.candidates = append(f.candidates, message.Candidate{Candidate: "candidate:" + value, SDPMid: mid, SDPMLineIndex: line})
		case "a=end-of-candidates":
			f.complete = true
		default:
			switch {
			case strings.HasPrefix(key, "m="):
				line, mid = new(sections), nil
				sections++
			case key != "" && !strings.HasPrefix(key, "a=") && !strings.HasPrefix(key, "c="):
				return fragment{}, fault.New(fault.ValidationFailed, "The SDP fragment is malformed. See RFC 8840, section 9.")
			}
		}
	}
	if (f.ufrag == "") != (f.pwd == "") || len(f.ufrag) > 256 || len(f.pwd) > 256 || strings.ContainsAny(f.ufrag+f.pwd, " \t\r") {
		return fragment{}, fault.New(fault.ValidationFailed, "The SDP fragment must have both ice-ufrag and ice-pwd, or neither.")
	}
	return f, nil
}

// attributes returns the values of an attribute of an SDP, without repeats.
func attributes(sdp, name string) []string {
	var values []string
	for line := range strings.Lines(sdp) {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "a="+name); ok && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

func attribute(sdp, name string) string {
	if values := attributes(sdp, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// restarted returns an offer with other ICE credentials and without candidates.
func restarted(offer string, f fragment) string {
	var b strings.Builder
	for line := range strings.Lines(offer) {
		switch {
		case strings.HasPrefix(line, "a=ice-ufrag:"):
			b.WriteString("a=ice-ufrag:" + f.ufrag + "\r\n")
		case strings.HasPrefix(line, "a=ice-pwd:"):
			b.WriteString("a=ice-pwd:" + f.pwd + "\r\n")
		case strings.HasPrefix(line, "a=candidate:"), strings.HasPrefix(line, "a=end-of-candidates"):
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

// fragmentOf returns the SDP fragment of an answer to a restart of ICE.
func fragmentOf(answer string) string {
	var b strings.Builder
	b.WriteString("a=ice-ufrag:" + attribute(answer, "ice-ufrag:") + "\r\na=ice-pwd:" + attribute(answer, "ice-pwd:") + "\r\n")
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, "m=") {
			b.WriteString(strings.TrimRight(line, "\r\n") + "\r\n")
			break
		}
	}
	b.WriteString("a=mid:" + attribute(answer, "mid:") + "\r\n")
	for _, c := range attributes(answer, "candidate:") {
		b.WriteString("a=candidate:" + c + "\r\n")
	}
	b.WriteString("a=end-of-candidates\r\n")
	return b.String()
}

// tagOf returns the entity tag of an ICE session: a hash of the credentials of both sides.
func tagOf(offer, answer string) string {
	h := sha256.New()
	for _, sdp := range []string{offer, answer} {
		h.Write([]byte(attribute(sdp, "ice-ufrag:") + "\n" + attribute(sdp, "ice-pwd:") + "\n"))
	}
	return `"` + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12]) + `"`
}
