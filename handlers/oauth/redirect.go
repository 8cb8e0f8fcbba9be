package oauth

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxRedirect is the longest redirect address in bytes.
const maxRedirect = 2048

// forbidden are schemes that run a script, read a file or show content without a host. A browser resolves
// some of them itself, so no program of the client gets the code. Others make a browser open a web address,
// which the consent page would show as a program on the person's machine.
var forbidden = []string{
	"javascript", "vbscript", "data", "blob", "file", "filesystem", "about", "view-source", "jar", "ws", "wss", "ftp", "mailto", "tel", "sms", "intent",
	"chrome", "edge", "resource", "mhtml", "microsoft-edge", "googlechrome", "googlechromes", "firefox", "firefox-focus", "brave",
	"chrome-extension", "moz-extension", "safari-web-extension", "android-app", "search", "shell", "smb", "ldap", "ssh", "telnet",
}

// ofPages are the further schemes for which a web page can register itself in a browser: the safelisted schemes of the
// HTML standard (registerProtocolHandler).
var ofPages = []string{
	"bitcoin", "ftps", "geo", "im", "irc", "ircs", "magnet", "matrix", "mms", "news", "nntp", "openpgp4fpr", "sftp", "sip", "smsto", "urn", "webcal", "wtai",
	"xmpp",
}

// forbiddenPrefixes start the schemes of system programs that take commands, such as ms-msdt and search-ms, of Safari
// for web addresses, such as x-safari-https, and those that a web page (web+) or a browser extension (ext+) can register.
var forbiddenPrefixes = []string{"ms-", "search-", "x-safari-", "x-web-", "web+", "ext+"}

// CheckRedirect checks a redirect address at registration:
//
//   - https with a host of ASCII letters, so that the consent page shows what the browser opens,
//   - http with a loopback address or localhost, for native programs,
//   - another scheme, which a native program has claimed, such as cursor.
//
// A port of these two is from 1 to 65535, without leading zeros. Error: InvalidRedirectURI.
func CheckRedirect(address string) error {
	u, err := parse(address)
	if err != nil {
		return err
	}
	switch {
	case u.Fragment != "" || strings.Contains(address, "#"):
		return refuse(InvalidRedirectURI, "A redirect address must not have a fragment.")
	case u.User != nil:
		return refuse(InvalidRedirectURI, "A redirect address must not have a user.")
	case (u.Scheme == "https" || u.Scheme == "http") && !plainPort(u):
		return refuse(InvalidRedirectURI, "The port of a redirect address must be from 1 to 65535, without leading zeros. Without a port, leave out the colon.")
	case u.Scheme == "https":
		if u.Opaque != "" || !plainHost(u.Host) {
			return refuse(InvalidRedirectURI, "An https redirect address must have a host of letters, digits, dots and hyphens. Write an international name in its xn-- form.")
		}
	case u.Scheme == "http":
		if u.Opaque != "" || !loopback(u.Hostname()) {
			return refuse(InvalidRedirectURI, "An http redirect address must have the host localhost, 127.0.0.1 or [::1]. Use https for other hosts.")
		}
	case commandScheme(u):
		return refuse(InvalidRedirectURI, "Redirect addresses with this scheme are not allowed.")
	}
	return nil
}

// commandScheme reports whether a scheme that is not http or https is one that no program should get a code by: a
// forbidden one, one that belongs to web pages, or one that wraps a web address.
func commandScheme(u *url.URL) bool {
	wraps := func(part string) bool {
		return strings.HasPrefix(strings.ToLower(strings.TrimLeft(part, "/")), "http") && strings.Contains(part, ":")
	}
	return slices.Contains(forbidden, u.Scheme) || slices.Contains(ofPages, u.Scheme) || wraps(u.Opaque) || wraps(u.Path) ||
		slices.ContainsFunc(forbiddenPrefixes, func(p string) bool { return strings.HasPrefix(u.Scheme, p) })
}

// plainPort reports whether a web address has no port, or one from 1 to 65535 in its only spelling.
func plainPort(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port && n > 0
}

// plainHost reports whether the host of a web address, with or without a port, looks the same to a person and to
// a browser: a name of ASCII letters, digits, hyphens, underscores and single dots, or an IP address. url.Parse
// decodes percent escapes in a host, so an escaped name could imitate another name or reverse the text.
func plainHost(hostPort string) bool {
	host, bracketed := strings.CutPrefix(hostPort, "[")
	if bracketed {
		inner, _, closed := strings.Cut(host, "]")
		a, err := netip.ParseAddr(inner)
		return closed && err == nil && a.Zone() == ""
	}
	host, _, _ = strings.Cut(host, ":")
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	}
	return host != "" && !strings.ContainsFunc(host, odd) && host[0] != '.' && !strings.Contains(host, "..")
}

// parse parses an address that has a scheme and only visible ASCII characters. A backslash is refused:
// browsers read it as a slash, and other parsers do not.
func parse(address string) (*url.URL, error) {
	bad := len(address) > maxRedirect || strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c > '~' || c == '\\' })
	u, err := url.Parse(address)
	if bad || err != nil || u.Scheme == "" {
		return nil, refuse(InvalidRedirectURI, "A redirect address must be an absolute URI of at most 2048 visible ASCII characters, without a backslash.")
	}
	return u, nil
}

// loopback reports whether a host is this machine: localhost, 127.0.0.1 or ::1. A name below localhost and
// other spellings of the addresses are not, because resolvers differ about them.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && (a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback())
}

// MatchRedirect reports whether a client with the registered addresses may be redirected to address. The
// addresses are compared byte by byte. In an http address with a loopback host, the port may differ.
func MatchRedirect(registered []string, address string) bool {
	if CheckRedirect(address) != nil {
		return false
	}
	if slices.Contains(registered, address) {
		return true
	}
	given, ok := withoutPort(address)
	return ok && slices.ContainsFunc(registered, func(r string) bool {
		known, ok := withoutPort(r)
		return ok && known == given
	})
}

// withoutPort returns a loopback address without its port. ok is false for other addresses.
func withoutPort(address string) (rest string, ok bool) {
	u, err := parse(address)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) {
		return "", false
	}
	// The port is cut from the text, so that the other bytes stay as they were written.
	authority := u.Host
	host := strings.TrimSuffix(strings.TrimSuffix(authority, u.Port()), ":")
	before, after, found := strings.Cut(address, authority)
	if !found {
		return "", false
	}
	return before + host + after, true
}

// Destination returns the part of a redirect address that a person can judge: its host, or its scheme if it has no web
// address. local is true for an address of the person's own machine, and for the scheme of a program.
func Destination(address string) (name string, local bool) {
	u, err := parse(address)
	switch {
	case err != nil:
		return "", false
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host, loopback(u.Hostname())
	default:
		return u.Scheme + ":", true
	}
}
