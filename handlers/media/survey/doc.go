// Package survey keeps what a model saw in a video, so that a later question about the
// same video is answered without looking again. There is one survey a video: the set of
// instants that were looked at, for all terms that the model knows. Looks at further
// instants, or for joints, are added to it; another model, another version of the program
// that serves it, or other terms of an open model make it anew. A survey may hold the
// beginning of the pass over the whole video alone: the pass goes on from there.
//
// Guarantees: what comes back is, bit for bit, what was kept; the order in which looks are
// added does not show; an object that cannot be read, because it is damaged or of another
// form, reads as none; its size is bounded.
//
// It may import domain/answer and handlers/media/objects.
package survey
