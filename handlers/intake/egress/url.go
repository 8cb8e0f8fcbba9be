package egress

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"vqa/domain/fault"
)

const (
	// maxURL is the longest URL, in characters (api-v1.md, "Limits": URL ingest).
	maxURL    = 2048
	httpsPort = "443"
	// param names the field of a request in a fault.
	param = "url"
)

// target is a URL that passed every check that needs no look-up.
type target struct {
	url *url.URL // its host is in ASCII
	// hostPort is host and port in the spelling of the allow list.
	hostPort string
	allowed  bool
}

// CheckURL judges what the URL itself shows (api-v1.md, create video, `url`):
// url_forbidden for a scheme, port or host that is never fetched, validation_failed
// for what is no URL or longer than 2048 characters. It looks nothing up.
func (c *Client) CheckURL(raw string) error {
	_, err := c.parse(raw)
	return err
}

func (c *Client) parse(raw string) (target, error) {
	if utf8.RuneCountInString(raw) > maxURL {
		return target{}, invalid(fault.Length, fmt.Sprintf("must be at most %d characters", maxURL))
	}
	// The authority is read before url.Parse, which rejects a percent escape in a
	// host as malformed, although it is one way to spell a forbidden one.
	if _, rest, ok := strings.Cut(raw, "://"); ok {
		authority := rest
		if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
			authority = rest[:i]
		}
		if host := authority[strings.LastIndexByte(authority, '@')+1:]; strings.Contains(host, "%") {
			return target{}, forbidden("its host must be written without percent escapes and zones")
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
		return target{}, forbidden("it must not carry credentials")
	}
	return c.parseHost(u)
}

func (c *Client) parseHost(u *url.URL) (target, error) {
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
	if port != httpsPort {
		return target{}, forbidden("only port 443 is allowed")
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

// plainHost returns a host name in lower-case ASCII without the dot of the root. An
// international name goes through the mapping that net/http would do when it dials:
// full-width digits and dots become plain ones here, before they are judged.
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

// numeric reports whether a host would be read as an IPv4 address by some resolver:
// as in the WHATWG URL standard, its last label decides.
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// localSuffixes are the top-level names set aside for use inside a network
// (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal) and those in common use for it.
// Names that merely never resolve (.invalid, .test) are left to the look-up.
var localSuffixes = []string{
	".localhost", ".localdomain", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".private", ".home.arpa",
}

// localName reports whether a name is not one of the public DNS. A name of one label
// is completed by the resolver's own search list.
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
