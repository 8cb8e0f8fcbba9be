// Package sampling decides which instants of a video are examined for a question.
//
// A video is examined in this order. Each step costs as much as the frames it adds:
//
//	step       instants                            when
//	scan       every 0.5 s; every 2 s when the     nothing is known of the video yet
//	           video is longer than 10 min
//	close-ups  every 0.5 s around a hint           after a scan every 2 s: around each sample in
//	                                               which a class of the question reaches HintScore
//	edges      every 0.125 s between two samples   where runs begin and end, those with the best
//	                                               scores first: of all classes, after a scan every
//	                                               2 s of the question's; at most a quarter of the
//	                                               samples plus 24
//	motion     every 0.125 s between two samples   the question is about a jump or a fall: where its
//	                                               objects are, those that move up and down most
//	                                               first; at most as many as the samples, or 144 in
//	                                               a shorter video
//	keypoints  the frames that show a person       the question needs them and no earlier step asked
//	                                               for them
//
// The evidence for a question holds only the frames of these steps, even when the survey has
// more. So the same question has the same evidence, independent of earlier questions.
//
// A second opinion is asked about a few frames only, spread over the samples that may show
// the subjects of the question ([ForOpinion]).
//
// It may import domain/answer, domain/evidence and domain/query. It is pure: no clock, no
// randomness, no input or output.
package sampling
