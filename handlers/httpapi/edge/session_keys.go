package edge

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"vqa/domain/fault"
)

// The pace at which the keys of sessions are fetched, and their bounds.
const (
	// keysFresh is how long keys are used before they are asked for again.
	keysFresh = 15 * time.Minute
	// keysRetry is the least time between two fetches, so that made-up key ids cannot
	// make this service a burden for the issuer.
	keysRetry = 10 * time.Second
	// keysDeadline bounds one fetch.
	keysDeadline = 5 * time.Second
	maxKeysBytes = 1 << 20
	maxKeys      = 100
	minRSABits   = 2048
)

// keySet holds the public keys of an issuer. It fetches them when they are missing or
// old, one fetch at a time, within a request that needs them. Keys that it has are good
// until the next fetch succeeds, so that sessions outlive an outage of the issuer.
type keySet struct {
	url    string
	client *http.Client
	now    func() time.Time
	flight singleflight.Group

	mu       sync.Mutex
	keys     []jose.JSONWebKey
	fetched  time.Time // zero until the first success
	tried    time.Time
	fetching bool
	failure  error // of the last fetch
}

func newKeySet(url string, transport http.RoundTripper, now func() time.Time) *keySet {
	client := &http.Client{
		Transport: transport, Timeout: keysDeadline,
		// The keys are where the operator said, and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &keySet{url: url, client: client, now: now}
}

// find returns the keys that may have made a signature; none when the id is unknown.
// Errors: upstream_error while there were never any keys.
func (k *keySet) find(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	keys, due := k.look(id, algorithm)
	if due {
		_, _, _ = k.flight.Do("", func() (any, error) {
			// Others wait for this fetch too: it does not end with its first caller.
			k.refresh(context.WithoutCancel(ctx))
			return nil, nil
		})
		keys, _ = k.look(id, algorithm)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetched.IsZero() {
		return nil, fault.New(fault.UpstreamError, "The keys of the session's issuer cannot be had.").WithCause(k.failure)
	}
	return keys, nil
}

// look returns the keys at hand, and whether a fetch is due before they are used: one
// that is missing waits for a fetch that runs, an old one does not.
func (k *keySet) look(id, algorithm string) (keys []jose.JSONWebKey, due bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.keys {
		if (id == "" || key.KeyID == id) && (key.Algorithm == "" || key.Algorithm == algorithm) && signs(key, algorithm) {
			keys = append(keys, key)
		}
	}
	now := k.now()
	may := now.Sub(k.tried) >= keysRetry
	if len(keys) == 0 {
		return keys, k.fetching || may
	}
	return keys, may && !k.fetching && now.Sub(k.fetched) >= keysFresh
}

func (k *keySet) refresh(ctx context.Context) {
	k.mu.Lock()
	now := k.now()
	if now.Sub(k.tried) < keysRetry {
		k.mu.Unlock()
		return
	}
	k.tried, k.fetching = now, true
	k.mu.Unlock()
	keys, err := k.fetch(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetching, k.failure = false, err; err == nil {
		k.keys, k.fetched = keys, now
	}
}

// fetch reads the published keys and keeps those that can verify a session.
func (k *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, fmt.Errorf("asking for the keys of sessions: %w", err)
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := k.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("asking for the keys of sessions: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking for the keys of sessions: status %d", response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxKeysBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the keys of sessions: %w", err)
	}
	if len(raw) > maxKeysBytes {
		return nil, fmt.Errorf("the keys of sessions are larger than %d bytes", maxKeysBytes)
	}
	return readKeys(raw)
}

// readKeys reads a JSON Web Key Set. A key of a kind that is of no use here is left out
// (RFC 7517, section 5); a set without any useful key is an error.
func readKeys(raw []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("the keys of sessions: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, one := range set.Keys[:min(len(set.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if err := json.Unmarshal(one, &key); err != nil || (key.Use != "" && key.Use != "sig") {
			continue
		}
		if signs(key, string(jose.RS256)) || signs(key, string(jose.ES256)) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the keys of sessions hold none for RS256 or ES256")
	}
	return keys, nil
}

// signs reports whether a public key belongs to an algorithm.
func signs(key jose.JSONWebKey, algorithm string) bool {
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return algorithm == string(jose.RS256) && public.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey:
		return algorithm == string(jose.ES256) && public.Curve == elliptic.P256()
	default:
		return false
	}
}
