package signin

import (
	"net/url"
	"strings"

	"vqa/domain/fault"
	"vqa/handlers/httpapi/edge"
)

// maxReturnTo is the longest path in bytes. An authorization request of an agent has up to about 2 KB.
const maxReturnTo = 4096

// returnPath checks the path of this service to open after sign-in. An empty one means the list of sessions.
// Browsers drop tabs and line breaks in an address and read a backslash as a slash, so these are refused, and
// so is an address with another host. Error: validation_failed.
func returnPath(raw string) (string, error) {
	if raw == "" {
		return edge.SessionsPath, nil
	}
	refused := fault.Invalid(fault.Violation{Param: "return_to", Code: fault.Format, Message: "must be a path of this service, such as /account/sessions"})
	unfit := func(c rune) bool { return c <= ' ' || c == '\\' || c > '~' }
	if len(raw) > maxReturnTo || raw[0] != '/' || strings.ContainsFunc(raw, unfit) {
		return "", refused
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return "", refused
	}
	// A path that begins with two slashes names a host, also after dots are removed or a server decodes it.
	decoded := u.Path
	for range 2 {
		for _, segment := range strings.Split(decoded, "/") {
			if segment == "." || segment == ".." {
				return "", refused
			}
		}
		if strings.Contains(decoded, "//") || strings.ContainsAny(decoded, "\\\r\n\t") {
			return "", refused
		}
		if decoded, err = url.PathUnescape(decoded); err != nil {
			return "", refused
		}
	}
	if decoded == edge.SignOutPath {
		return "", refused
	}
	return raw, nil
}
