package server

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"vqa/handlers/oauth"
)

const (
	// documentLife is how long a document is used before it is fetched again.
	documentLife = 15 * time.Minute
	// documentDeadline bounds one fetch.
	documentDeadline = 5 * time.Second
	// maxDocuments is the most documents that a node keeps.
	maxDocuments = 500
)

// documents fetches metadata documents and keeps them for a while. It never keeps a failure: a client that repairs its
// document works at once.
type documents struct {
	client *http.Client
	now    func() time.Time
	flight singleflight.Group

	mu   sync.Mutex
	kept map[string]keptDocument
}

type keptDocument struct {
	oauth.Client
	until time.Time
}

func newDocuments(transport http.RoundTripper, now func() time.Time) *documents {
	return &documents{now: now, kept: map[string]keptDocument{}, client: &http.Client{
		Transport: transport, Timeout: documentDeadline,
		// A redirect would let the host of another document decide.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// get returns the client of an address. Errors: InvalidClientMetadata, InvalidRedirectURI.
func (d *documents) get(ctx context.Context, address string) (oauth.Client, error) {
	if err := oauth.CheckDocumentAddress(address); err != nil {
		return oauth.Client{}, err
	}
	d.mu.Lock()
	kept, ok := d.kept[address]
	d.mu.Unlock()
	if ok && d.now().Before(kept.until) {
		return kept.Client, nil
	}
	got, err, _ := d.flight.Do(address, func() (any, error) {
		// Other requests wait for this fetch too, so it outlives its first request.
		return d.fetch(context.WithoutCancel(ctx), address)
	})
	if err != nil {
		return oauth.Client{}, err
	}
	c := got.(oauth.Client)
	d.keep(address, c)
	return c, nil
}

func (d *documents) keep(address string, c oauth.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for known, kept := range d.kept {
		if len(d.kept) < maxDocuments {
			break
		}
		if !d.now().Before(kept.until) {
			delete(d.kept, known)
		}
	}
	if len(d.kept) >= maxDocuments {
		clear(d.kept)
	}
	d.kept[address] = keptDocument{c, d.now().Add(documentLife)}
}

// fetch reads a document. The message does not say why a fetch failed, because that would describe the network behind
// the service.
func (d *documents) fetch(ctx context.Context, address string) (oauth.Client, error) {
	unreachable := &oauth.Error{Code: oauth.InvalidClientMetadata, Description: "Cannot fetch the metadata document of the client. It must be public, over https on port 443, without a redirect."}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil) //nolint:gosec // the client refuses private addresses
	if err != nil {
		return oauth.Client{}, unreachable
	}
	r.Header.Set("Accept", "application/json")
	response, err := d.client.Do(r) //nolint:gosec // as before
	if err != nil {
		return oauth.Client{}, unreachable
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return oauth.Client{}, &oauth.Error{
			Code: oauth.InvalidClientMetadata, Description: fmt.Sprintf("The metadata document of the client has status %d; it must have 200.", response.StatusCode),
		}
	}
	if !isJSON(response.Header.Get("Content-Type")) {
		// Hosts that publish files of their users serve them as another type.
		return oauth.Client{}, &oauth.Error{Code: oauth.InvalidClientMetadata, Description: "The metadata document of the client must have the content type application/json."}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, oauth.MaxDocument+1))
	if err != nil {
		return oauth.Client{}, unreachable
	}
	return oauth.ReadDocument(address, body)
}

// isJSON reports whether a content type is application/json, or one that extends it, such as application/x+json.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"))
}
