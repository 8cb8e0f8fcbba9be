package peer_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"

	"vqa/streaming/assemble"
	"vqa/streaming/peer"
)

func TestPicturesArrive(t *testing.T) {
	t.Parallel()
	for _, mime := range []string{webrtc.MimeTypeH264, webrtc.MimeTypeVP8, webrtc.MimeTypeVP9} {
		t.Run(mime, func(t *testing.T) {
			t.Parallel()
			s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{mime: mime})
			p := open(t, s, got.session("st_1"))
			c.join(t, p)
			got.waitState(t, peer.Connected)
			stop := c.streaming(t)
			got.waitFrames(t, 10)
			stop()
			c.check(t, got.frames)

			require.NoError(t, c.pc.Close())
			got.waitState(t, peer.Closed)
		})
	}
}

// videoCodecs returns the codecs of the video section, in order.
func videoCodecs(sdp string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`a=rtpmap:\d+ (\w+)/90000`).FindAllStringSubmatch(sdp, -1) {
		if len(names) == 0 || names[len(names)-1] != m[1] {
			names = append(names, m[1])
		}
	}
	return names
}

// TestTheAnswerPrefersH264 offers as Chromium does, with VP8 first.
func TestTheAnswerPrefersH264(t *testing.T) {
	t.Parallel()
	s := listen(t, peer.Options{})
	p := open(t, s, newSink().session("st_1"))
	offer := newClient(t, clientOptions{}).offer(t, nil)
	require.Equal(t, "VP8", videoCodecs(offer)[0], "the default of pion")
	answer, err := p.Answer(t.Context(), offer)
	require.NoError(t, err)
	require.Contains(t, videoCodecs(answer), "H264")
	require.NotContains(t, videoCodecs(answer), "VP8", "one codec, which the sender cannot change")
	first := regexp.MustCompile(`m=video \d+ \S+ (\d+)`).FindStringSubmatch(answer)[1]
	require.Regexp(t, `a=fmtp:`+first+` \S*packetization-mode=1;profile-level-id=42e01f`, answer)
	require.Contains(t, answer, "a=rtcp-fb:"+first+" nack pli")
	require.Contains(t, answer, "apt="+first, "retransmission")
	require.NotContains(t, answer, "typ host tcptype active")
}

// only keeps the codecs of an offer whose name matches.
func only(offer, names string) string {
	var gone []string
	for _, m := range regexp.MustCompile(`a=rtpmap:(\d+) (\w+)/90000`).FindAllStringSubmatch(offer, -1) {
		if !regexp.MustCompile(names).MatchString(m[2]) {
			gone = append(gone, m[1])
		}
	}
	var lines []string
	for _, line := range strings.Split(offer, "\r\n") {
		for _, g := range gone {
			if regexp.MustCompile(`^a=(rtpmap|fmtp|rtcp-fb):` + g + ` `).MatchString(line) {
				line = ""
				break
			}
			if strings.HasPrefix(line, "m=video") {
				line = regexp.MustCompile(` `+g+`( |$)`).ReplaceAllString(line, "$1")
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\r\n") + "\r\n"
}

func TestOffersThatCannotWork(t *testing.T) {
	t.Parallel()
	offer := newClient(t, clientOptions{}).offer(t, nil)
	audio, err := webrtc.NewPeerConnection(webrtc.Configuration{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = audio.Close() })
	_, err = audio.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio)
	require.NoError(t, err)
	noVideo, err := audio.CreateOffer(nil)
	require.NoError(t, err)
	candidates := strings.Builder{}
	for i := range 65 {
		fmt.Fprintf(&candidates, "a=candidate:1 1 udp 2130706431 192.0.2.%d 5000 typ host\r\n", i)
	}
	sections := strings.Repeat("m=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=inactive\r\n", 32)
	two := newClient(t, clientOptions{})
	_, err = two.pc.AddTransceiverFromKind(webrtc.RTPCodecTypeVideo)
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		offer    string
		h264Only bool
		want     string
	}{
		"no codec":       {only(offer, "AV1"), false, "H.264, VP8 or VP9. It has AV1"},
		"recording, VP8": {only(offer, "VP8|VP9"), true, "needs H.264, which the offer lacks. It has VP8, VP9."},
		"no video":       {noVideo.SDP, false, "has no video"},
		"two videos":     {two.offer(t, nil), false, "has 2 video sections that send"},
		"receives":       {strings.Replace(offer, "a=sendrecv", "a=recvonly", 1), false, "is recvonly"},
		"malformed":      {"v=x\r\n", false, "not a valid session description"},
		"empty":          {"", false, "has no video"},
		"candidates":     {offer + candidates.String(), false, "At most 64 are allowed."},
		"sections":       {offer + sections, false, "has 33 media sections. At most 32 are allowed."},
		"too large":      {strings.Repeat("a", 65<<10), false, "At most 65536"},
		"no fingerprint": {regexp.MustCompile(`a=fingerprint.*\r\n`).ReplaceAllString(offer, ""), false, "cannot be"},
		"no ICE":         {regexp.MustCompile(`a=ice-(ufrag|pwd).*\r\n`).ReplaceAllString(offer, ""), false, "cannot be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listen(t, peer.Options{})
			session := newSink().session("st_1")
			session.H264Only = tt.h264Only
			p := open(t, s, session)
			_, err := p.Answer(t.Context(), tt.offer)
			refusal, ok := errors.AsType[*peer.OfferError](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, refusal.Message, tt.want)
			for _, c := range []string{"x", "candidate:1 1 udp", "candidate:1 1 udp 1 999.0.0.1 5000 typ host"} {
				_, refused := errors.AsType[*peer.OfferError](p.AddCandidate(peer.Candidate{Candidate: c}))
				require.True(t, refused, "%s, before an offer", c)
			}
			require.NoError(t, p.AddCandidate(peer.Candidate{Candidate: "candidate:1 1 udp 1 a-b.local 5000 typ host"}))
			_, err = p.Answer(t.Context(), offer)
			require.NoError(t, err, "the peer takes a better offer")
		})
	}
}

// TestTrickle sends the candidates one by one, the first before the offer.
func TestTrickle(t *testing.T) {
	t.Parallel()
	s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{})
	p := open(t, s, got.session("st_1"))
	offer := c.offer(t, nil)
	candidates := regexp.MustCompile(`a=(candidate:.*)\r\n`).FindAllStringSubmatch(offer, -1)
	require.NotEmpty(t, candidates)
	zero := uint16(0)
	require.NoError(t, p.AddCandidate(peer.Candidate{Candidate: candidates[0][1], SDPMLineIndex: &zero}))
	answer, err := p.Answer(t.Context(), regexp.MustCompile(`a=(candidate|end-of-candidates).*\r\n`).ReplaceAllString(offer, ""))
	require.NoError(t, err)
	c.accept(t, answer)
	for _, m := range candidates[1:] {
		require.NoError(t, p.AddCandidate(peer.Candidate{Candidate: m[1], SDPMLineIndex: &zero}))
	}
	require.NoError(t, p.AddCandidate(peer.Candidate{}), "no more candidates")
	got.waitState(t, peer.Connected)

	_, malformed := errors.AsType[*peer.OfferError](p.AddCandidate(peer.Candidate{Candidate: "candidate:x", SDPMLineIndex: &zero}))
	require.True(t, malformed)
	for range 70 {
		err = p.AddCandidate(peer.Candidate{Candidate: candidates[0][1], SDPMLineIndex: &zero})
	}
	require.ErrorContains(t, err, "more than 64 candidates")
}

func TestOverTCP(t *testing.T) {
	t.Parallel()
	s, got := listen(t, peer.Options{}), newSink()
	c := newClient(t, clientOptions{configure: func(s *webrtc.SettingEngine) {
		s.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
	}})
	p := open(t, s, got.session("st_1"))
	c.join(t, p)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	got.waitFrames(t, 10)
	stop()
	c.check(t, got.frames)
	d := p.Diagnostics()
	require.Empty(t, d.Hint)
	require.Contains(t, strings.Join(d.Pairs, ", "), "succeeded")
	require.GreaterOrEqual(t, d.Media.Pictures, int64(10))
}

func TestPublicAddress(t *testing.T) {
	t.Parallel()
	s := listen(t, peer.Options{PublicIP: netip.MustParseAddr("203.0.113.7")})
	p := open(t, s, newSink().session("st_1"))
	answer, err := p.Answer(t.Context(), newClient(t, clientOptions{}).offer(t, nil))
	require.NoError(t, err)
	candidates := regexp.MustCompile(`a=candidate:\S+ \d (\w+) \d+ (\S+) (\d+) typ (\w+)`).FindAllStringSubmatch(answer, -1)
	require.NotEmpty(t, candidates)
	for _, c := range candidates {
		require.Equal(t, "203.0.113.7", c[2], "the own address is not announced")
	}
}

// TestChecksReachNoLocalAddress names addresses of this machine and of its network as candidates, in the offer and
// after it. The service tries the other ones only.
func TestChecksReachNoLocalAddress(t *testing.T) {
	t.Parallel()
	const public = "203.0.113.10"
	never := []string{"169.254.169.254", "0.0.0.0", "224.0.0.1", "fe80::1%eth0", "camera.local"}
	machine, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range machine {
		ip := a.(*net.IPNet).IP
		if never = append(never, ip.String()); ip.To4() != nil {
			never = append(never, "::ffff:"+ip.String(), "64:ff9b::"+ip.String())
		}
	}
	network := []string{"10.0.0.9", "172.16.0.9", "192.168.1.2", "100.100.100.200"}
	for name, tt := range map[string]struct {
		public netip.Addr
		want   []string
	}{
		"in a network":          {want: append([]string{"198.51.100.1"}, network...)},
		"with a public address": {public: netip.MustParseAddr(public), want: []string{"198.51.100.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listen(t, peer.Options{Address: netip.MustParseAddrPort("0.0.0.0:0"), PublicIP: tt.public})
			named := append(append(slices.Clone(never), network...), "198.51.100.1")
			if tt.public.IsValid() {
				named = append(named, public)
			}
			for _, kind := range []string{"host", "srflx raddr 198.51.100.2 rport 9", "prflx raddr 198.51.100.2 rport 9", "relay raddr 198.51.100.2 rport 9"} {
				var lines []string
				for i, address := range named {
					if kind == "host" || address != "camera.local" {
						lines = append(lines, fmt.Sprintf("candidate:%d 1 udp %d %s 5000 typ %s", i, 1000-i, address, kind))
					}
				}
				for _, trickled := range []bool{false, true} {
					p := open(t, s, newSink().session(fmt.Sprintf("st_%s_%v", kind, trickled)))
					offer := regexp.MustCompile(`a=candidate:.*\r\n`).ReplaceAllString(newClient(t, clientOptions{}).offer(t, nil), "")
					if !trickled {
						offer = strings.Replace(offer, "a=mid:", "a="+strings.Join(lines, "\r\na=")+"\r\na=mid:", 1)
					}
					_, err := p.Answer(t.Context(), offer)
					require.NoError(t, err)
					for _, line := range lines {
						if trickled {
							require.NoError(t, p.AddCandidate(peer.Candidate{Candidate: line, SDPMLineIndex: new(uint16)}))
						}
					}
					remote := func() (all []string) {
						for _, c := range p.Diagnostics().Remote {
							all = append(all, regexp.MustCompile(`^udp (.*):5000 `).FindStringSubmatch(c)[1])
						}
						return all
					}
					require.Eventually(t, func() bool { return len(remote()) >= len(tt.want) }, patience, time.Millisecond)
					require.ElementsMatch(t, tt.want, remote(), "%s, trickled: %v", kind, trickled)
					p.Close()
				}
			}
		})
	}
}

// TestAPeerThatNeverConnects offers an address where nothing listens.
func TestAPeerThatNeverConnects(t *testing.T) {
	t.Parallel()
	s, got := listen(t, peer.Options{ConnectTimeout: time.Second}), newSink()
	session := got.session("st_1")
	var p *peer.Peer
	var d peer.Diagnostics
	session.Changed = func(st peer.State) {
		got.note(func() { got.states = append(got.states, st); d = p.Diagnostics() })
	}
	p = open(t, s, session)
	require.Equal(t, "The client sent no offer.", p.Diagnostics().Hint)
	c := newClient(t, clientOptions{configure: func(s *webrtc.SettingEngine) { s.SetIPFilter(net.IP.IsLoopback) }})
	_, err := p.Answer(t.Context(), c.offer(t, nil)) // the client does not get the answer
	require.NoError(t, err)
	require.Contains(t, p.Diagnostics().Hint, "The client only sent addresses of a private network or of the service's own machine")
	require.NoError(t, p.AddCandidate(peer.Candidate{Candidate: "candidate:1 1 udp 1 10.255.255.1 9 typ host"}))
	got.waitState(t, peer.Failed)
	require.NotEmpty(t, d.Local)
	require.NotEmpty(t, d.Remote)
	require.NotEmpty(t, d.Pairs)

	require.Contains(t, d.Hint, "No direct path works and the client sent no relay candidate.")
	require.Regexp(t, `^(tcp|udp) 127.0.0.1:\d+ host$`, d.Local[0])
}

// TestNothingIsLeft opens and closes peers, some of them while they connect.
func TestNothingIsLeft(t *testing.T) { //nolint:paralleltest // it counts goroutines
	s, err := peer.Listen(peer.Options{Address: loopback})
	require.NoError(t, err)
	round := func() {
		got, c := newSink(), newClient(t, clientOptions{})
		p, err := s.Open(got.session("st_1"))
		require.NoError(t, err)
		offer := c.offer(t, nil)
		answer, err := p.Answer(t.Context(), offer)
		require.NoError(t, err)
		c.accept(t, answer)
		got.waitState(t, peer.Connected)
		stop := c.streaming(t)
		got.waitFrames(t, 1)
		stop()
		p.Close()
		p.Close()
		_, err = p.Answer(t.Context(), offer)
		require.ErrorIs(t, err, peer.ErrClosed)
		require.ErrorIs(t, p.AddCandidate(peer.Candidate{Candidate: "candidate:1 1 udp 2130706431 127.0.0.1 5000 typ host"}), peer.ErrClosed)
		require.NoError(t, c.pc.Close())
		half, err := s.Open(got.session("st_1"))
		require.NoError(t, err)
		_, err = half.Answer(t.Context(), newClient(t, clientOptions{}).offer(t, nil))
		require.NoError(t, err)
		half.Close()
	}
	round()
	count := func() int {
		n := 0
		buffer := make([]byte, 4<<20)
		for _, g := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			// Only of peers: the server stays, and clients of this and of other tests end in their own time.
			if strings.Contains(g, "streaming/peer.") && !strings.Contains(g, "_test.") && !strings.Contains(g, "(*gate).Accept") {
				n++
			}
		}
		return n
	}
	for range 5 {
		round()
	}
	require.Eventually(t, func() bool { return count() == 0 }, patience, 10*time.Millisecond)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")
}

// TestASilentSender loses a packet and then sends nothing: requests do not wait for packets.
func TestASilentSender(t *testing.T) {
	t.Parallel()
	s, got, c := listen(t, peer.Options{}), newSink(), newClient(t, clientOptions{})
	p := open(t, s, got.session("st_1"))
	c.join(t, p)
	got.waitState(t, peer.Connected)
	stop := c.streaming(t)
	got.waitFrames(t, 5)
	stop()
	c.encoder.Seq++
	c.send()
	require.Eventually(t, func() bool {
		m := p.Diagnostics().Media
		return m.Requests >= 10 && m.Lost == 1 && m.KeyframeRequests > 0
	}, patience, 10*time.Millisecond)
	frames := len(got.frames)
	stop = c.streaming(t)
	got.waitFrames(t, frames+5)
	p.RequestKeyframe()
	got.wait(t, "second keyframe", func() bool {
		return slices.ContainsFunc(got.frames[frames+5:], func(f assemble.Picture) bool { return f.Key })
	})
	stop()
}
