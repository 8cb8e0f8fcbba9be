package server

import (
	"context"
	"net/url"
	"strings"

	"vqa/domain/id"
	"vqa/handlers/oauth"
)

// client is a program that asks for a permission.
type client struct {
	oauth.Client
	// domain is the host of its metadata document. It is empty for a registered client.
	domain string
}

// isDocument reports whether a client id is the address of a metadata document.
func isDocument(clientID string) bool { return strings.Contains(clientID, "://") }

// unknownClient is the error of a client that is not registered or has expired. Clients register again after it.
func unknownClient() error {
	return &oauth.Error{Code: oauth.InvalidClient, Description: "The client is unknown or has expired. Register it again."}
}

// registered finds a registered client. Error: InvalidClient.
func (s *server) registered(ctx context.Context, clientID string) (client, error) {
	if !id.Valid(id.AgentClient, clientID) {
		return client{}, unknownClient()
	}
	c, found, err := s.Reader.AgentClient(ctx, clientID)
	if err != nil {
		return client{}, err
	}
	if !found || c.Expired(s.Service.Now()) {
		return client{}, unknownClient()
	}
	return client{Client: oauth.Client{ID: c.ID, Name: c.Name, RedirectURIs: c.RedirectURIs}}, nil
}

// find finds a client, and fetches its metadata document if it has one. Errors: InvalidClient,
// InvalidClientMetadata, InvalidRedirectURI.
func (s *server) find(ctx context.Context, clientID string) (client, error) {
	if !isDocument(clientID) {
		return s.registered(ctx, clientID)
	}
	c, err := s.documents.get(ctx, clientID)
	if err != nil {
		return client{}, err
	}
	u, err := url.Parse(clientID)
	if err != nil {
		return client{}, unknownClient()
	}
	return client{Client: c, domain: u.Host}, nil
}

// checkClient checks that a client may use the token endpoint. A client with a metadata document proves itself by the
// grant that names its address. Errors: InvalidClient, InvalidClientMetadata.
func (s *server) checkClient(ctx context.Context, clientID string) error {
	if isDocument(clientID) {
		if oauth.CheckDocumentAddress(clientID) != nil {
			return unknownClient()
		}
		return nil
	}
	_, err := s.registered(ctx, clientID)
	return err
}
