package signal

// Restart applies an SDP fragment to an offer. credentials is true when it restarts ICE.
func Restart(offer, text string) (restart string, credentials bool, err error) {
	f, err := parseFragment(text)
	if err != nil || f.ufrag == "" {
		return "", false, err
	}
	return restarted(offer, f), true, nil
}
