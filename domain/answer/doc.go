// Package answer decides the result of an analysis from the evidence of a video. It implements the result
// rules of the contract (docs/contract.md#result-1 to result-9) and the rules about answers
// (docs/contract.md#answers).
//
// It may import domain/evidence, domain/query and its own domain/answer/predicate. It is pure: no clock, no
// randomness, no input or output. The same query, evidence and calibration give the same result, bit for
// bit.
//
// # From boxes to an answer
//
//  1. Each detection gets a probability: a logistic function of its score, of the scores of other classes at
//     its place, and of the kind of its class ([Parameters]). Classes of one kind exclude each other at a
//     place. `vqa calibrate` fits the numbers so that half of what people ask for is absent.
//  2. The objects of each noun phrase are linked to tracks. The movement of the camera is taken out, and no
//     track crosses a cut (package evidence).
//  3. A predicate gives each object of a track a probability (package predicate). Those of the conditions
//     multiply.
//  4. A statement has a series, its probability in each frame: Is is that of the best object, a number that
//     of its weakest instance, And the least, Or the greatest, Not the complement.
//  5. The answer is yes when the mean over one second reaches one half. Clips are the intervals of the most
//     probable path between holding and not, where each change has a cost. A count is the largest number
//     that lasts for a second. What happens at an instant, such as leaving, need not last.
//
// "Is there" asks whether a statement holds at some time. A part that must be absent, a number that must
// not be reached, and what all instances must be, are true of the whole video. "When" asks for the frames
// in which the statement holds, also for that part.
//
// [Explain] returns the same result with everything that it rests on, for people. It has no rules of its
// own: both run the same code.
//
// # What cannot be told
//
// A frame may not show whether a condition holds, a model may not know a word, and some words cover more
// than the model's classes. The question is then answered twice: as if none of that held, and as if all of
// it did. When the answers differ, the result is indeterminate, and Result.Undecided names the part. A
// probability within the band Parameters.Doubt is indeterminate, too.
//
// A word for some instances of a class ("woman", "puppy") is answered as its class and never surer than
// marginal. A no is never surer than CapPrior when something was detected that only the prior of people
// who ask speaks against.
//
// # Other uses
//
// [Observe] gives the objects of any things, linked and judged as for an answer. Narratives, annotated
// videos and the boxes of live streams are made of them.
//
// # Guarantees
//
// An indeterminate result has confidence 0. Every confidence is within 0..1. Clips are ordered, disjoint,
// within the duration and at most 500. Evidence of any shape is answered without a panic. The order of the
// detections in a frame does not matter. Frames with an evidence.Source are loaded once, one after the
// other, and never held together. Only a few numbers of each object stay in memory.
package answer
