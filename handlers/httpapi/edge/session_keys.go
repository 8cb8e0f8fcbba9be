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

// Times and limits for fetching the keys of sessions.
const (
	// keysFresh is how long keys are used before they are fetched again.
	keysFresh = 15 * time.Minute
	// keysRetry is the least time between two fetches, so that invented key ids cannot
	// overload the issuer.
	keysRetry = 10 * time.Second
	// keysDeadline is the time limit of one fetch.
	keysDeadline = 5 * time.Second
	maxKeysBytes = 1 << 20
	maxKeys      = 100
	minRSABits   = 2048
)

// keySet holds the public keys of an issuer. A request that needs missing or old keys
// fetches them. Only one fetch runs at a time. The keys stay valid until the next
// successful fetch, so that sessions work during an outage of the issuer.
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
		// Keys come only from the URL that the operator configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &keySet{url: url, client: client, now: now}
}

// find returns the keys that a signature may come from, none for an unknown id. Error:
// upstream_error if no fetch has succeeded yet.
func (k *keySet) find(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	keys, due := k.cached(id, algorithm)
	if due {
		_, _, _ = k.flight.Do("", func() (any, error) {
			// Other requests wait for this fetch too, so it outlives its first request.
			k.refresh(context.WithoutCancel(ctx))
			return nil, nil
		})
		keys, _ = k.cached(id, algorithm)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetched.IsZero() {
		return nil, fault.New(fault.UpstreamError, "Cannot fetch the signing keys of the session issuer. Try again later.").WithCause(k.failure)
	}
	return keys, nil
}

// cached returns the matching keys, and whether the caller must fetch before it uses them.
// A request whose key is missing waits for a running fetch. A request whose key is only old
// does not.
func (k *keySet) cached(id, algorithm string) (keys []jose.JSONWebKey, due bool) {
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

// fetch downloads the keys and returns those that can verify a session.
func (k *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, fmt.Errorf("fetching session keys: %w", err)
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := k.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("fetching session keys: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetching session keys: status %d", response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxKeysBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading session keys: %w", err)
	}
	if len(raw) > maxKeysBytes {
		return nil, fmt.Errorf("the session keys are larger than %d bytes", maxKeysBytes)
	}
	return readKeys(raw)
}

// readKeys reads a JSON Web Key Set. It ignores keys of other types (RFC 7517, section 5).
// A set without a usable key is an error.
func readKeys(raw []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("reading session keys: %w", err)
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
		return nil, errors.New("no session key is for RS256 or ES256")
	}
	return keys, nil
}

// signs reports whether a public key can verify signatures of an algorithm.
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
