package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"vqa/domain/query"
	"vqa/handlers/httpapi/api"
)

// server answers the operations of the contract. What it serves to everyone is made
// once, at the start.
type server struct {
	Options
	contract    json.RawMessage
	version     string
	fixtureHash string
	// fixtureDurationS is the length of the fixture in seconds.
	fixtureDurationS float64
	fixtureQuery     query.Query
	streams          openStreams
	// changes are the changelog, newest first.
	changes      []change
	deprecations deprecations
	assets       assets
	// sameSite refuses the forms of other sites.
	sameSite *http.CrossOriginProtection
}

var _ api.StrictServerInterface = (*server)(nil)

func newServer(o Options, c *contract) (*server, error) {
	published, err := c.published(o.PublicURL)
	if err != nil {
		return nil, err
	}
	info, _ := c.document["info"].(map[string]any)
	version, _ := info["version"].(string)
	sum := sha256.Sum256(o.Fixture.Video)
	s := &server{
		Options: o, contract: published, version: version, fixtureHash: hex.EncodeToString(sum[:]),
		fixtureQuery: query.Compile(o.Fixture.Prompt),
	}
	duration := o.Service.Fixture.File().DurationMicros
	if duration == nil {
		return nil, fmt.Errorf("httpapi: the length of the fixture is not known")
	}
	s.fixtureDurationS = float64(*duration) / 1e6
	if s.changes, err = loadChangelog(changelogFile); err != nil {
		return nil, err
	}
	if s.deprecations, err = newDeprecations(s.changes, c, o.PublicURL); err != nil {
		return nil, err
	}
	if s.assets, err = loadAssets(o.Reference); err != nil {
		return nil, err
	}
	if s.sameSite, err = newCrossOriginProtection(o.PublicURL); err != nil {
		return nil, err
	}
	return s, nil
}

// url makes an absolute URL of this service.
func (s *server) url(path string) string { return s.PublicURL + path }
