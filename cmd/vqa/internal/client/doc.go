// Package client speaks the public HTTP API for the command line: it uploads a video, creates an
// analysis and follows it to its end, and creates and ends live streams.
//
// It repeats a call while the server asks for it, and never sends the API key to an upload URL.
// It may import the typed query and ids of the domain and the terminal package. The service's
// own packages are out of reach, so the command line can do only what the public API allows.
package client
