package httpapi

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"vqa/domain/query"
	"vqa/domain/query/english"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/httpapi/pages"
	"vqa/projections/public"
)

//go:embed openapi.yaml
var contractFile []byte

// server implements the operations of the contract. Values that are the same for all
// callers are computed once, at the start.
type server struct {
	Options
	contract    json.RawMessage
	version     string
	fixtureHash string
	// fixtureDurationS is the duration of the fixture in seconds.
	fixtureDurationS float64
	fixtureQuery     query.Query
	streams          openStreams
	sockets          openStreams
	readiness        readiness
	// changes are the changelog, newest first.
	changes []change
	pages   *pages.Pages
	// sameSite refuses forms from other sites.
	sameSite *http.CrossOriginProtection
}

var _ edge.Operations = (*server)(nil)

// Handler is the whole HTTP interface.
type Handler interface {
	http.Handler
	// Refuse returns the response to a request that net/http refused (wire.Options).
	Refuse(client net.Addr, status int, reason string) []byte
	// RenderEvent returns an event as GET /v1/events shows it, with URLs signed now. Webhooks send
	// these bytes.
	RenderEvent(ctx context.Context, e public.Event) ([]byte, error)
}

// handler is the edge with its operations.
type handler struct {
	*edge.Edge
	*server
}

// New returns the whole HTTP interface. It fails if an option is missing or if the edge
// cannot enforce the contract file.
func New(o Options) (Handler, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c, err := edge.LoadContract(contractFile)
	if err != nil {
		return nil, err
	}
	o.Objects = signing{o.Objects}
	s, err := newServer(o, c)
	if err != nil {
		return nil, err
	}
	behind := o.edge(c, s, deprecated(s.changes, o.PublicURL))
	if behind.People, behind.Tokens, err = s.people(); err != nil {
		return nil, err
	}
	e, err := edge.New(behind)
	if err != nil {
		return nil, err
	}
	return handler{e, s}, nil
}

func newServer(o Options, c *edge.Contract) (*server, error) {
	published, err := c.Published(o.PublicURL)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(o.Fixture.Video)
	s := &server{
		Options: o, contract: published, version: c.Version(), fixtureHash: hex.EncodeToString(sum[:]),
		fixtureQuery: english.Compile(o.Fixture.Prompt),
	}
	s.sockets.what = "WebSockets of live streams"
	duration := o.Service.Fixture.File().DurationMicros
	if duration == nil {
		return nil, fmt.Errorf("httpapi: the fixture has no duration")
	}
	s.fixtureDurationS = float64(*duration) / 1e6
	if s.changes, err = loadChangelog(changelogFile); err != nil {
		return nil, err
	}
	s.pages, err = pages.New(pages.Options{
		PublicURL: o.PublicURL, Version: s.version, Changes: pageChanges(s.changes), Reference: o.Reference,
	})
	if err != nil {
		return nil, err
	}
	if s.sameSite, err = newCrossOriginProtection(o.PublicURL); err != nil {
		return nil, err
	}
	return s, nil
}

// url returns the absolute URL of a path of this service.
func (s *server) url(path string) string { return s.PublicURL + path }
