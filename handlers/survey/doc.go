// Package survey stores the detections of a video, so that later questions about the same
// video need no inference.
//
// A video has one survey: a set of examined instants, with the detections of all terms that
// the model knows. Scans of further instants, or scans with keypoints, are added to it. A new
// survey starts for another model, for another version of the engine, or when an open model
// is asked for new terms. A survey may hold only the start of the scan over the whole video;
// the next attempt continues that scan.
//
// While a survey is in use, its frames are in a spool: a temporary file without a name. They
// are read one by one when they are needed, because hours of a crowd do not fit into memory.
// The stored object has the same bytes, compressed, after a list of the frames.
//
//	four hours with 60 people in every frame, all with keypoints and colors
//	in memory   about 250 bytes per frame
//	spool       0.5 GB; at 4 GiB writing fails
//	object      0.4 GB; at 1 GiB saving fails, and the previous object stays
//
// Guarantees: detections are read as they were written, bit for bit. The order in which scans
// are added makes no difference. An object that is damaged or has another form counts as
// missing. The size of an object is bounded. The spool is gone after Close, or with the
// process.
//
// It may import domain/answer, domain/evidence, domain/fault and handlers/objects.
package survey
