package pages

// Demo is a demo video in the gallery. Its links are paths without a host, because a reader
// may have opened the page by another name than the public URL.
type Demo struct {
	Name, Thumbnail, Video string
	DurationS              float64
	Answers                []Answer
}

// Answer is a prompt of the gallery with its answer as one word or number.
type Answer struct {
	Prompt, Answer string
	Confidence     float64
}

// Home renders the page that a browser gets for GET /.
func (p *Pages) Home(gallery []Demo) (Page, error) {
	return rendered(homePage, homePolicy, map[string]any{"Title": "Ask questions about video", "Version": p.Version, "Demos": gallery})
}
