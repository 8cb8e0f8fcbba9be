// Package survey keeps what a model saw in a video, so that a later question about the
// same video is answered without looking again. There is one survey a video: the set of
// instants that were looked at, for all terms that the model knows. Looks at further
// instants, or for joints, are added to it; another model, another version of the program
// that serves it, or other terms of an open model make it anew. A survey may hold the
// beginning of the pass over the whole video alone: the pass goes on from there.
//
// While it is worked on, what the frames show is in a file without a name, in the folder
// for temporary files, and is read frame by frame when somebody looks: hours of a crowd
// are more than belongs in memory. An object is the same bytes, compressed, behind a
// list of the frames.
//
//	of four hours with 60 people in every frame, all with joints and colours
//	in memory                    some 250 bytes a frame
//	file                         0.5 GB; 4 GiB at most, then there is no room
//	object                       0.4 GB; 1 GiB at most, then the earlier one stays
//
// Guarantees: what comes back is, bit for bit, what was kept; the order in which looks are
// added does not show; an object that cannot be read, because it is damaged or of another
// form, reads as none; its size is bounded. The file goes with Close, or with the process.
//
// It may import domain/answer and handlers/objects.
package survey
