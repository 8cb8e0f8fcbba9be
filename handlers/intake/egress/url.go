package egress

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"vqa/domain/fault"
)

const (
	// maxURL is the longest URL, in characters (docs/contract.md#limits).
	maxURL    = 2048
	httpsPort = "443"
	// firstUserPort is the lowest port of a webhook besides 443. Below it are the services of a system.
	firstUserPort = 1024
	// param names the field of a request in a fault.
	param = "url"
)

// target is a URL that has passed every check without a DNS lookup.
type target struct {
	url *url.URL // its host is in ASCII
	// hostPort is the host and port as the allow list spells them.
	hostPort string
	allowed  bool
}

// ports is a rule for the ports of URLs.
type ports struct {
	permits func(port string) bool
	// words completes "only … is allowed".
	words string
}

var (
	fetchPorts   = ports{func(port string) bool { return port == httpsPort }, "port 443 is allowed"}
	webhookPorts = ports{webhookPort, "port 443 and the ports from 1024 to 65535 are allowed"}
)

func webhookPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == httpsPort || err == nil && n >= firstUserPort && strconv.FormatUint(n, 10) == port
}

// CheckURL checks the URL of a video without a DNS lookup (docs/contract.md#create-video). It returns
// url_forbidden for a forbidden scheme, port or host, and validation_failed for a malformed URL
// or one with more than 2048 characters.
func (c *Client) CheckURL(raw string) error {
	_, err := c.parse(raw, fetchPorts)
	return err
}

// CheckWebhookURL checks the URL of a webhook (docs/contract.md#webhook-endpoints). The rules are those
// of CheckURL, except for the port.
func (c *Client) CheckWebhookURL(raw string) error {
	_, err := c.parse(raw, webhookPorts)
	return err
}

func (c *Client) parse(raw string, allowed ports) (target, error) {
	if utf8.RuneCountInString(raw) > maxURL {
		return target{}, invalid(fault.Length, fmt.Sprintf("must be at most %d characters", maxURL))
	}
	// url.Parse rejects a percent escape in a host as malformed. But it may spell a forbidden
	// host, so it is checked first.
	if _, rest, ok := strings.Cut(raw, "://"); ok {
		authority := rest
		if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
			authority = rest[:i]
		}
		if host := authority[strings.LastIndexByte(authority, '@')+1:]; strings.Contains(host, "%") {
			return target{}, forbidden("write its host without percent escapes and zones")
		}
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return target{}, invalid(fault.Format, "must be an absolute URL")
	}
	if u.Scheme != "https" {
		return target{}, forbidden("only https is allowed")
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return target{}, invalid(fault.Format, "must be an absolute URL with a host")
	}
	if u.User != nil {
		return target{}, forbidden("it must not contain credentials")
	}
	return c.parseHost(u, allowed)
}

func (c *Client) parseHost(u *url.URL, allowed ports) (target, error) {
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = httpsPort
	}
	literal := strings.HasPrefix(u.Host, "[")
	if !literal {
		var err error
		if host, err = plainHost(host); err != nil {
			return target{}, err
		}
	}
	t := target{url: u, hostPort: net.JoinHostPort(host, port)}
	u.Host = t.hostPort
	if port == httpsPort && !literal {
		u.Host = host
	}
	u.Fragment, u.RawFragment = "", ""
	if t.allowed = c.allow[t.hostPort]; t.allowed {
		return t, nil
	}
	if !allowed.permits(port) {
		return target{}, forbidden("only " + allowed.words)
	}
	if literal || numeric(host) {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Is6() != literal || !public(a) {
			return target{}, forbidden("its host is not a public address")
		}
		return t, nil
	}
	if localName(host) {
		return target{}, forbidden("its host is not a public name")
	}
	return t, nil
}

// plainHost returns a host name in lower-case ASCII without the final dot. It maps an
// international name in the same way as net/http does for a dial. Full-width digits and dots
// become plain ones before they are checked.
func plainHost(host string) (string, error) {
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", invalid(fault.Format, "must have a valid host name")
		}
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if slices.Contains(strings.Split(host, "."), "") {
		return "", invalid(fault.Format, "must have a host name without empty labels")
	}
	return host, nil
}

// numeric reports whether some resolver could read a host as an IPv4 address. As in the WHATWG
// URL standard, the last label decides.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// localSuffixes are the names for use inside a network: the reserved ones (RFC 6761, RFC 6762,
// RFC 8375, ICANN's .internal) and others in common use. Reserved names that never resolve
// (.invalid, .test) fail in the DNS lookup.
var localSuffixes = []string{
	".localhost", ".localdomain", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".private", ".home.arpa",
}

// localName reports whether a name is outside the public DNS. A resolver completes a name with
// one label from its search list.
func localName(host string) bool {
	if !strings.Contains(host, ".") {
		return true
	}
	for _, s := range localSuffixes {
		if strings.HasSuffix(host, s) {
			return true
		}
	}
	return false
}

func invalid(code fault.ViolationCode, message string) error {
	return fault.Invalid(fault.Violation{Param: param, Code: code, Message: message})
}

func forbidden(why string) *fault.Fault {
	return fault.New(fault.URLForbidden, "The URL is not allowed: "+why+".").WithParam(param)
}

func failed(why string) *fault.Fault {
	return fault.New(fault.URLFetchFailed, "The URL could not be fetched: "+why+".").WithParam(param)
}
