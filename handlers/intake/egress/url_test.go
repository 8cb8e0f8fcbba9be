package egress

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Allow: []string{"Localhost:8443", "127.0.0.1:9443", "[::1]:9443"}})
	require.NoError(t, err)
	const (
		ok        = fault.Code("")
		forbidden = fault.URLForbidden
		invalid   = fault.ValidationFailed
	)
	cases := []struct {
		want fault.Code
		urls []string
	}{
		{ok, []string{
			"https://example.com/a.mp4", "https://EXAMPLE.com:443/a.mp4?x=1#t", "https://example.com.", "HTTPS://example.com/",
			"https://93.184.216.34/a.mp4", "https://93.184.216.34.:443/", "https://[2606:2800:220:1::1]/", "https://[::ffff:93.184.216.34]/",
			"https://bücher.example.com/", "https://a_b.example.com/", "https://0x.example.com/", "https://1.2.3.4.example.com/",
			"https://localhost:8443/a", "https://LOCALHOST:8443/a", "https://127.0.0.1:9443", "https://[::1]:9443/",
			"https://example.com/%2e%2e/@127.0.0.1", "https://example.com?u=https://127.0.0.1",
			"https://example.com/" + strings.Repeat("é", maxURL-20),
		}},
		{invalid, []string{
			"", "example.com", "//example.com/a", "/a.mp4", "https://", "https:///a", "https:example.com", "https:/example.com",
			" https://example.com", "https://exa mple.com", "https://example.com\n", "https://[::1", "https://[127.0.0.1]/", "https://example..com", "https://.example.com",
			"https://example.com:port/", "https://example.com\\@127.0.0.1/",
			"https://example.com/" + strings.Repeat("a", maxURL-19),
		}},
		{forbidden, []string{
			// scheme, port, credentials
			"http://example.com/a.mp4", "ftp://example.com/a", "file:///etc/passwd", "javascript:alert(1)", "data:video/mp4,x",
			"https://example.com:80/", "https://example.com:8443/", "https://example.com:0443/", "https://localhost:8444/", "http://localhost:8443/",
			"https://user@example.com/", "https://user:word@example.com/", "https://example.com@127.0.0.1/", "https://:@example.com/",
			// loopback in every spelling
			"https://127.0.0.1/", "https://127.0.0.1./", "https://127.1/", "https://127.0.1/", "https://127.255.255.254/",
			"https://2130706433/", "https://017700000001/", "https://0x7f000001/", "https://0x7f.1/", "https://0X7F.0.0.1/",
			"https://0177.0.0.1/", "https://0177.0.0.01/", "https://127.0.0.01/", "https://4294967297/", "https://127.0.0.1.0x0/", "https://0/", "https://0.0.0.0/",
			"https://127.0.0.1/", "https://①②⑦.⓪.⓪.①/", "https://127。0。0。1/", "https://%31%32%37.0.0.1/", "https://127%2e0.0.1/",
			"https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "https://ⓛocalhost/", "https://localhost.localdomain/", "https://ip6-localhost/",
			"https://[::1]/", "https://[0:0:0:0:0:0:0:1]/", "https://[::]/", "https://[::127.0.0.1]/", "https://[::ffff:127.0.0.1]/", "https://[::ffff:7f00:1]/",
			"https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::7f00:1]/", "https://[2002:7f00:1::]/", "https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
			// private, shared, link-local, metadata
			"https://10.0.0.1/", "https://172.16.0.1/", "https://172.31.255.255/", "https://192.168.1.1/", "https://100.64.0.1/", "https://100.100.100.200/",
			"https://169.254.169.254/latest/meta-data", "https://2852039166/", "https://0xa9fea9fe/", "https://[::ffff:169.254.169.254]/", "https://[fd00:ec2::254]/",
			"https://192.0.0.192/", "https://168.63.129.16/", "https://metadata.google.internal/", "https://metadata/", "https://printer.local/", "https://router.lan/",
			"https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[fc00::1]/", "https://[fec0::1]/",
			// multicast, reserved, documentation
			"https://224.0.0.1/", "https://239.255.255.250/", "https://240.0.0.1/", "https://255.255.255.255/", "https://198.18.0.1/", "https://203.0.113.5/",
			"https://[ff02::1]/", "https://[2001:db8::1]/", "https://[100::1]/", "https://256.256.256.256/", "https://1.2.3.4.5/",
		}},
	}
	for _, group := range cases {
		for _, raw := range group.urls {
			err := c.CheckURL(raw)
			if group.want == ok {
				require.NoError(t, err, raw)
				continue
			}
			f := fault.Of(err)
			require.NotNil(t, f, raw)
			require.Equal(t, group.want, f.Code, "%q: %v", raw, err)
			if f.Code == invalid {
				require.Equal(t, "url", f.Violations[0].Param)
			} else {
				require.Equal(t, "url", f.Param)
			}
		}
	}
}

// TestPortsOfWebhooks: a webhook may have more ports than a video. All other rules are the same.
func TestPortsOfWebhooks(t *testing.T) {
	t.Parallel()
	c, err := New(Options{})
	require.NoError(t, err)
	for _, port := range []string{"", ":443", ":1024", ":8443", ":65535"} {
		require.NoError(t, c.CheckWebhookURL("https://example.com"+port+"/hook"), port)
		for _, host := range []string{"127.0.0.1", "10.0.0.1", "[::1]", "0x7f.1", "localhost", "metadata.google.internal"} {
			require.Equal(t, fault.URLForbidden, code(c.CheckWebhookURL("https://"+host+port+"/hook")), host+port)
		}
	}
	for _, port := range []string{":0", ":1", ":22", ":80", ":442", ":1023", ":65536", ":0443", ":08443"} {
		require.Equal(t, fault.URLForbidden, code(c.CheckWebhookURL("https://example.com"+port)), port)
	}
	require.NoError(t, refuseNonPublic("93.184.216.34:8443", webhookPorts))
	require.Equal(t, fault.URLForbidden, code(refuseNonPublic("127.0.0.1:8443", webhookPorts)))
	require.Equal(t, fault.URLForbidden, code(refuseNonPublic("93.184.216.34:25", webhookPorts)))
}

// FuzzCheckURL: CheckURL never panics. An accepted URL is https on port 443, and no URL parser
// can read its host as a forbidden address.
func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/a.mp4", "https://127.0.0.1:443/", "https://[::ffff:7f00:1]/", "https://0x7f.1/", "https://127。0。0。1",
		"https://a@b@c/", "https://[fe80::1%25eth0]/", "https://%6c/", "https://example.com.:443?#", "http:\\\\x", "https://xn--/",
	} {
		f.Add(seed)
	}
	c, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := c.parse(raw, fetchPorts)
		if err != nil {
			if code := fault.Of(err).Code; code != fault.URLForbidden && code != fault.ValidationFailed {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		again, err := url.Parse(target.url.String())
		if err != nil {
			t.Fatalf("%q passed as %q, which cannot be read: %v", raw, target.url, err)
		}
		if again.Scheme != "https" || again.User != nil || (again.Port() != "" && again.Port() != "443") {
			t.Fatalf("%q passed as %q", raw, again)
		}
		host := again.Hostname()
		if a, err := netip.ParseAddr(host); err == nil && !public(a) {
			t.Fatalf("%q passed with the address %s", raw, a)
		}
		if last := host[strings.LastIndexByte(host, '.')+1:]; strings.Trim(last, "0123456789") == "" && !strings.Contains(host, ":") {
			if _, err := netip.ParseAddr(host); err != nil {
				t.Fatalf("%q passed with the number %q", raw, host)
			}
		}
		if !strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ".") {
			t.Fatalf("%q passed with the local name %q", raw, host)
		}
		if err := c.CheckURL(again.String()); err != nil {
			t.Fatalf("%q passed, but not its plain spelling %q: %v", raw, again, err)
		}
	})
}
