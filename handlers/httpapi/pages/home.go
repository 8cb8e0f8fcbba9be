package pages

// Demo is a demo video in the gallery. Paths are relative to the service, because a
// reader may have come by another name than the public one.
type Demo struct {
	Name, Thumbnail, Video string
	DurationS              float64
	Answers                []Answer
}

// Answer is a question of the gallery with its answer in one word or number.
type Answer struct {
	Prompt, Answer string
	Confidence     float64
}

// Home is what a browser sees at the base address.
func (p *Pages) Home(gallery []Demo) (Page, error) {
	return rendered(homePage, homePolicy, map[string]any{"Title": "Ask questions about video", "Version": p.Version, "Demos": gallery})
}
