package signin

import "strings"

// named has the browsers and systems that a User-Agent may name. The first match counts, because most browsers
// also name others.
var (
	browsers = [][2]string{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"Vivaldi", "Vivaldi"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	}
	systems = [][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"CrOS", "ChromeOS"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
	}
)

// browserName returns a name for the list of sessions, such as "Firefox on Linux". It takes nothing else from
// the header, because a client may send anything there.
func browserName(userAgent string) string {
	find := func(names [][2]string, otherwise string) string {
		for _, n := range names {
			if strings.Contains(userAgent, n[0]) {
				return n[1]
			}
		}
		return otherwise
	}
	browser, system := find(browsers, "A browser"), find(systems, "")
	if system == "" {
		return browser
	}
	return browser + " on " + system
}
