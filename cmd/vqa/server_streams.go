package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"vqa/cmd/vqa/internal/streams"
	"vqa/domain/account"
	"vqa/domain/stream"
	"vqa/handlers/httpapi/edge"
	"vqa/streaming/peer"
	"vqa/streaming/signal"
)

// nodeTimeout bounds the connection to another node, and the wait for its answer.
const nodeTimeout = 10 * time.Second

// disconnectTimeout bounds the close of the sockets of clients.
const disconnectTimeout = 2 * time.Second

// streamWindows returns the times that a stream waits for its client.
func (c config) streamWindows() stream.Windows {
	return stream.Windows{Join: c.StreamJoinTimeout, ICE: c.StreamICETimeout, FirstFrame: c.StreamFirstFrame}
}

// openStreams opens the ports of live streams.
func (s *server) openStreams(c config, key []byte) error {
	options, err := c.mediaOptions(derivedKey(key, "credentials of the relay"))
	if err != nil {
		return err
	}
	proxies, err := c.proxies()
	if err != nil {
		return err
	}
	s.address = edge.AddressHash(derivedKey(key, "client addresses"), proxies)
	s.passing = edge.NewPassing(signal.PassedOn, derivedKey(key, "requests between nodes"), s.nodeURL(), s.address, s.clock.Now)
	legacy, err := c.legacyKeys()
	if err != nil {
		return err
	}
	if s.media, err = peer.Listen(options); err != nil {
		return err
	}
	s.closers = append(s.closers, s.media.Close)
	s.streams = streams.New(streams.Options{
		Commands: s.commands, Read: s.resources, Presence: s.presence, Slots: c.StreamSlots, Media: s.media,
		FFmpeg: s.ffmpeg, Engine: s.lanes.Streams(), Recordings: s.recordings(), Calibrations: s.calibrations,
		Windows: c.streamWindows(), Grace: c.StreamGrace, PublicURL: c.PublicURL, MaxSession: time.Duration(c.StreamMaxSession) * time.Second,
		CheckKey:     func(k account.Key) error { return cmp.Or(legacy.Check(k, s.clock.Now()), k.Check(s.clock.Now())) },
		Sign:         s.passing.Sign,
		Client:       nodeClient(),
		PreflightKey: derivedKey(key, "ids of preflights"),
		Timed:        s.meter.streams.timed, Counted: s.meter.streams.received,
		Now: s.clock.Now, Log: s.log,
	})
	return nil
}

// nodeClient returns the client for other nodes, at the addresses that they announced, which may be internal ones.
func nodeClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = nodeTimeout
	transport.DialContext = (&net.Dialer{Timeout: nodeTimeout}).DialContext
	return &http.Client{Transport: transport}
}

// recordings returns the recordings of live streams in the object store.
func (s *server) recordings() streams.Recordings {
	return streams.Recordings{Limits: s.commands, Objects: s.objects, FFmpeg: s.ffmpeg, History: s.store, Now: s.clock.Now}
}

// disconnectStreams closes the connections of clients. Sessions end later, with the other work.
func (s *server) disconnectStreams() error {
	ctx, cancel := context.WithTimeout(context.Background(), disconnectTimeout)
	defer cancel()
	return s.streams.Close(ctx)
}

// startStreams runs the live streams until stopStreams. They end before the lease of this node does, because
// their ends are recorded under it.
func (s *server) startStreams(working context.Context) {
	ctx, stop := context.WithCancel(working)
	ended := make(chan struct{})
	s.stopStreams = func() { stop(); <-ended }
	s.work("live streams", func() error {
		defer close(ended)
		s.streams.Run(ctx)
		return nil
	})
}
