package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/streaming/peer"
)

func TestICEServers(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for in, want := range map[string]peer.External{
		"stun:stun.example:3478": {ICEServer: peer.ICEServer{URLs: []string{"stun:stun.example:3478"}}},
		"turn:jo:se%40cret@turn.example:443?transport=tcp": {ICEServer: peer.ICEServer{
			URLs: []string{"turn:turn.example:443?transport=tcp"}, Username: text("jo"), Credential: text("se@cret"),
		}},
		"turns::se%2Fcret@turn.example:443": {ICEServer: peer.ICEServer{URLs: []string{"turns:turn.example:443"}}, Secret: []byte("se/cret")},
	} {
		got, ok := iceServer(in)
		require.True(t, ok, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", "stun", "stun:", "http://stun.example", "turn:turn.example:443", "turn:jo@turn.example", "turn::@turn.example", "turn:@turn.example", "stun:jo:secret@stun.example"} {
		_, ok := iceServer(in)
		require.False(t, ok, in)
	}
}

func TestMediaOptions(t *testing.T) {
	t.Parallel()
	c := config{MediaAddr: "0.0.0.0:8090", MediaPublicIP: "192.0.2.1", TURNAddr: "0.0.0.0:3478", ICEServers: []string{"stun:stun.example"}}
	o, err := c.mediaOptions([]byte("secret"))
	require.NoError(t, err)
	require.Equal(t, "192.0.2.1", o.Relay.Host)
	require.Equal(t, uint16(8090), o.Address.Port())
	require.Len(t, o.External, 1)
	c.TURNAddr = "off"
	o, err = c.mediaOptions(nil)
	require.NoError(t, err)
	require.Nil(t, o.Relay)
	for name, wrong := range map[string]config{
		"VQA_MEDIA_ADDR":      {MediaAddr: "localhost:1"},
		"VQA_MEDIA_PUBLIC_IP": {TURNAddr: "off", MediaAddr: "0.0.0.0:0", MediaPublicIP: "example.com"},
		"VQA_TURN_ADDR":       {MediaAddr: "0.0.0.0:0", TURNAddr: "3478"},
		"VQA_ICE_SERVERS":     {TURNAddr: "off", MediaAddr: "0.0.0.0:0", ICEServers: []string{"turn:secret@x"}},
	} {
		_, err := wrong.mediaOptions(nil)
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "secret")
	}
}
