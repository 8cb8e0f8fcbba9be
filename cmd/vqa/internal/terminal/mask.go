package terminal

import "net/url"

// Masked hides the password in a URL. It hides a secret that is not a URL completely.
func Masked(value string, secret bool) string {
	u, err := url.Parse(value)
	isURL := err == nil && u.Scheme != "" && u.Host != ""
	switch {
	case value == "":
		return ""
	case isURL:
		if q := u.Query(); q.Has("password") {
			q.Set("password", "xxxxx")
			u.RawQuery = q.Encode()
		}
		return u.Redacted()
	case secret:
		return "xxxxx"
	}
	return value
}
