// Package answer turns what a model saw in the sampled frames of a video into the
// result of an analysis, by the result rules of the contract (api-v1.md, "Result
// rules" 1 to 9) and the open points ("Answers").
//
// Imports: the standard library and domain/query. Pure: no clock, no randomness; the
// same query, evidence and calibration give the same result, bit for bit.
//
// How [Decide] reasons about one subject:
//
//  1. The subject's classes are looked up; detections of several of its classes at
//     one place are one object.
//  2. Neighbouring samples that reach Keep form a run; one missed sample does not end
//     it. A weak sight counts next to a strong one; alone it makes a `no` less sure,
//     and undecided when it lasts for Sustained samples.
//  3. A run is trusted when two neighbouring samples of it pass Threshold or one
//     passes Peak, and when no other class outvotes the subject at the same place
//     over the run: the weak "cat" on a dog is the dog.
//  4. Trusted runs are the clips. The count is the largest number that two
//     neighbouring samples of a trusted run both show.
//
// What follows for the answer, first match wins:
//
//	evidence                                        answer          reason
//	form not answered today                         indeterminate   unsupported_…
//	no frames, or the model does not know the term  indeterminate   nothing_detected
//	a trusted run                                   yes/no by form  -
//	a lasting weak sight, or one over Flash         indeterminate   low_confidence
//	that no neighbour supports and none outvotes
//	nothing, and the classes do not cover the word  indeterminate   nothing_detected
//	nothing                                         no (absence: yes)  -
//
// Guarantees: indeterminate has confidence 0; every confidence is within 0..1; clips
// are ordered, disjoint, within the duration and at most 500; evidence of any shape
// is answered without a panic, and the order of detections in a frame is irrelevant.
package answer
