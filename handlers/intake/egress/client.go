package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxRedirects is the number of redirects that are followed. One more is url_fetch_failed.
const maxRedirects = 5

// maxHeaderBytes bounds the headers of a response.
const maxHeaderBytes = 64 << 10

// nameResolver looks up names. *net.Resolver implements it.
type nameResolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configure a Client. The zero value reaches public hosts only.
type Options struct {
	// Allow lists additional targets as exact host:port; their addresses are not checked
	// (VQA_EGRESS_ALLOW). The scheme must still be https.
	Allow []string
	// CAFile has additional certificate authorities in PEM, which are trusted only for the
	// targets of Allow (VQA_EGRESS_CA_FILE).
	CAFile string

	// The rest is for tests. resolver defaults to net.DefaultResolver.
	resolver nameResolver

	// Deadlines. Zero means the default.
	connectTimeout time.Duration // DNS, TCP and TLS each; default 10 s
	headerTimeout  time.Duration // from the request to the response headers; default 15 s
	idleTimeout    time.Duration // silence within a body; default 30 s
	totalTimeout   time.Duration // one whole fetch; default 30 min

	// minRate is the minimum rate of a body in bytes per second, over each rateWindow of time
	// spent waiting for it. Zero means the default.
	minRate    int64         // 32 KiB
	rateWindow time.Duration // 20 s
}

// Client is a guarded HTTP client. It is safe for concurrent use.
type Client struct {
	allow    map[string]bool
	resolver nameResolver
	opt      Options
	// public trusts the authorities of the system. listed also trusts those of CAFile.
	public, listed *http.Transport
	// connect opens a socket to a checked address. A test replaces it.
	connect func(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error)
}

// New returns a client, or an error for a malformed allow list or CA file.
func New(opt Options) (*Client, error) {
	setDefault(&opt.connectTimeout, 10*time.Second)
	setDefault(&opt.headerTimeout, 15*time.Second)
	setDefault(&opt.idleTimeout, 30*time.Second)
	setDefault(&opt.totalTimeout, 30*time.Minute)
	setDefault(&opt.rateWindow, 20*time.Second)
	if opt.minRate <= 0 {
		opt.minRate = 32 << 10
	}
	c := &Client{allow: map[string]bool{}, resolver: opt.resolver, opt: opt, connect: connect}
	if c.resolver == nil {
		c.resolver = net.DefaultResolver
	}
	for _, entry := range opt.Allow {
		host, port, err := net.SplitHostPort(strings.ToLower(strings.TrimSpace(entry)))
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("egress: allow list: %q must be host:port", entry)
		}
		c.allow[net.JoinHostPort(host, port)] = true
	}
	roots, err := extraRoots(opt.CAFile)
	if err != nil {
		return nil, err
	}
	c.public, c.listed = c.transport(nil), c.transport(roots)
	return c, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d <= 0 {
		*d = value
	}
}

// extraRoots returns the authorities of the system and of a file. Without a file it returns nil,
// which means those of the system.
func extraRoots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("egress: read the CA file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // this machine has no authorities, so use only the file
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("egress: the CA file %s has no certificate", file)
	}
	return roots, nil
}

func (c *Client) transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // a proxy would dial unchecked addresses
		DialContext:            c.dialer(c.opt.connectTimeout, fetchPorts),
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    c.opt.connectTimeout,
		ResponseHeaderTimeout:  c.opt.headerTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableKeepAlives:      true, // each request dials, so its address is checked
		DisableCompression:     true,
	}
}

// RoundTrip implements http.RoundTripper. It checks every request, including redirects and
// requests that do not come from Fetch.
func (c *Client) RoundTrip(r *http.Request) (*http.Response, error) {
	t, err := c.parse(r.URL.String(), fetchPorts)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper must close it
		}
		return nil, err
	}
	// The checked spelling is sent, so the transport cannot parse it as another host.
	r = r.Clone(r.Context())
	r.URL, r.Host = t.url, t.url.Host
	if t.allowed {
		return c.listed.RoundTrip(r)
	}
	return c.public.RoundTrip(r)
}

// dialer returns a function that opens connections in at most limit.
func (c *Client) dialer(limit time.Duration, ports ports) func(ctx context.Context, network, hostPort string) (net.Conn, error) {
	return func(ctx context.Context, network, hostPort string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return c.dial(ctx, network, hostPort, limit, ports)
	}
}

// dial resolves a name once, checks every address and connects to a checked literal address.
func (c *Client) dial(ctx context.Context, network, hostPort string, limit time.Duration, ports ports) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, fmt.Errorf("egress: dial: %w", err)
	}
	allowed := c.allow[net.JoinHostPort(strings.ToLower(host), port)]
	addrs, err := c.resolve(ctx, host, allowed)
	if err != nil {
		return nil, err
	}
	// One silent address must not use up the time for the others.
	dialer := net.Dialer{Timeout: max(limit/time.Duration(len(addrs)), 2*time.Second)}
	if !allowed {
		for _, a := range addrs {
			if !public(a) {
				return nil, notPublic(a)
			}
		}
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return refuseNonPublic(address, ports) }
	}
	failures := []error{}
	for _, a := range addrs {
		conn, err := c.connect(ctx, &dialer, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func connect(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	return d.DialContext(ctx, network, address)
}

// maxAddresses bounds the number of addresses that are tried for a name.
const maxAddresses = 16

func (c *Client) resolve(ctx context.Context, host string, allowed bool) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if !allowed {
		host += "." // with the final dot, no search list completes the name
	}
	addrs, err := c.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("egress: resolve: %w", err)
	}
	if len(addrs) == 0 {
		return nil, errors.New("egress: resolve: the name has no address")
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap()
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}

// refuseNonPublic checks the address to which a socket is about to connect.
func refuseNonPublic(address string, allowed ports) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("egress: %w", err)
	}
	if !allowed.permits(strconv.Itoa(int(at.Port()))) || !public(at.Addr()) {
		return notPublic(at.Addr())
	}
	return nil
}

func notPublic(a netip.Addr) error {
	return forbidden("its host has no public address").WithCause(fmt.Errorf("egress: %s is not public", a))
}

// follow is the redirect policy of http.Client.
func (c *Client) follow(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return failed(fmt.Sprintf("more than %d redirects", maxRedirects))
	}
	r.Header.Del("Referer") // the query of the first URL may be a secret
	return nil              // RoundTrip checks the new URL
}
