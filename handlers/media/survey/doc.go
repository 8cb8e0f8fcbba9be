// Package survey keeps what a model saw in a video, so that a later question about the
// same video is answered without looking again. There is one survey a video, for all
// terms that the model knows; one that is asked for more than it holds (joints, colours,
// another model, other terms of an open model) is made anew and replaces it.
//
// Guarantees: what comes back is, bit for bit, what was kept; an object that cannot be
// read, because it is damaged or of another form, reads as none; its size is bounded.
//
// It may import domain/answer and handlers/media/objects.
package survey
