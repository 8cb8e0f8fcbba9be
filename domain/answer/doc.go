// Package answer decides the result of an analysis from the evidence of a video. It
// implements the result rules of the contract (docs/contract.md#result-1 to result-9) and
// the rules about answers (docs/contract.md#answers).
//
// It may import domain/evidence and domain/query. It is pure: no clock, no randomness, no
// input or output. The same query, evidence and calibration give the same result, bit for
// bit.
//
// # One subject
//
// [Decide] finds each subject of the query in these steps:
//
//  1. It looks up the classes of the subject. Detections of several of its classes at one
//     place are one object. A class that is only confused with the subject counts where
//     another class of the subject is detected too (vocabulary.Vocabulary.Confused).
//  2. Neighboring samples that reach Keep form a run. One missed sample does not end a run.
//     A weak sample counts next to a strong one. Alone it makes a no less sure. When weak
//     samples last for Sustained samples, the no is undecided.
//  3. A run is trusted when two neighboring samples pass Threshold on average, three pass
//     Faint, or one passes Peak. No other class may outvote the subject at the same place
//     over the run: the weak "cat" on a dog is the dog. A detection below Threshold is worth
//     half where another class scores as much. So is a person below Firm where all other
//     classes together score Spread times as much.
//  4. Trusted runs are the clips. A clip ends half way between two samples. Where fine frames
//     were examined between them (Evidence.Fine), it ends half way between the last frame
//     that shows the subject and the next one. The count is the largest number that two
//     neighboring samples of a trusted run both show, or Sustained samples of objects about
//     as large as the best.
//
// # Conditions
//
// Conditions select among the objects of each frame. Two probabilities are multiplied for
// each object: that it is the subject, and that it satisfies the conditions. The steps
// above then use the score that is worth the product. Some frames do not show whether a
// condition holds, for example when the body is cut off. Then it is unknown:
//
//	condition  decided by                                unknown when
//	location   the third with the center of the box      never
//	relation   the boxes of both objects in the frame;   the model does not know the other
//	           the lower one is in front                 object
//	on the     no seat beneath; for a sitting person,    the feet of a sitting person are not
//	ground     the hips are near the feet                seen; for a standing person
//	color      the share of the color, and of its        the model reports no colors
//	           shades, in the box
//	clothes    the share of the color in the quarters    the model reports no colors; for
//	           of the body where they are worn           trousers, the legs are cut off
//	size       the share of the frame                    never
//	posture    the keypoints: heights of hips and knees  the keypoints are not seen now nor
//	           in torsos, a wrist above its elbow and    within two seconds; for arms, the
//	           shoulder, both wrists at the other        body is seen from the side
//	           elbow with level forearms; else a
//	           slender box; else the same body shortly
//	           before or after
//	movement   the track of the box, in its heights per  the object is in no sample nearby; in a
//	           second; in a still picture the stride     still picture, the feet are not seen
//	jump       head, hips and feet rise together and     in a still picture, or in a single
//	           come down again                           sample
//	fall       a box higher than wide becomes a low one  in a still picture, or in a single
//	           within 1.5 s and stays low                sample
//	enter,     the ends of a track at a side of the      never; a track that begins or ends in the
//	leave      frame; an object in the first sample      middle makes a no less sure
//	           does not enter
//	narrower   no object of the class; whether a person  an object of the class is there
//	word       is a woman is not visible
//	           (vocabulary.Vocabulary.Narrower); a word that
//	           the question presupposes fits any
//	           object, less surely one of several
//	time       the times of the frames                   never; without frames the reason is
//	                                                     nothing_detected
//
// An occurrence has a time of its own, which is its clip. A jump or a fall needs frames that
// are closer together than the samples: [MotionGaps] says where, and Evidence.Fine holds
// them.
//
// A question about all of several subjects needs them in the same frames: the least of their
// scores counts. A subject that must be absent must be so in all frames. A question about
// any of several subjects is as sure as the surest of them.
//
// # The answer
//
// The first row that applies decides:
//
//	evidence                                         answer          reason
//	form or condition not supported                  indeterminate   unsupported_…
//	no frames, or the model does not know the term   indeterminate   nothing_detected
//	a trusted run                                    yes/no by form  -
//	a trusted run apart from unknown conditions,     indeterminate   low_confidence
//	unless the answer about the number is the same
//	with and without them
//	about even odds; a weak run that lasts; a        indeterminate   low_confidence
//	single sample over Faint that no class
//	outvotes; a best score that Absence calls
//	undecided
//	conditions on an object that may not be there    indeterminate   low_confidence
//	nothing, and the classes do not cover the word   indeterminate   nothing_detected
//	nothing                                          no (absence: yes)  -
//
// The best score of a class bounds how sure a no is (Calibration.Absence), in every form
// that rests on absence. A question with conditions is also decided with every subset of
// them, and is never surer than one with fewer conditions that has an answer. A count has
// count evidence instead of clips: the intervals in which its number is visible.
//
// A question about all of several subjects gets a no when one of them does. A question about
// any of them gets a no when each of them does. Otherwise the answer is indeterminate when one
// of the subjects is indeterminate and the others do not decide.
//
// # Tracks
//
// Package evidence links the objects of the samples and removes the movement of the camera.
// Movements and stances use the linked objects. Where the camera moved and the shift is
// unknown, movements are unknown. An object that comes nearer does not move for these rules.
// [Tracks] are the same for artifacts and narratives; a track is trusted by the rule for
// runs.
//
// # Guarantees
//
// An indeterminate result has confidence 0. Every confidence is within 0..1. Clips are
// ordered, disjoint, within the duration and at most 500. Evidence of any shape is answered
// without a panic. The order of the detections in a frame does not matter. Frames with an
// evidence.Source are loaded one after the other, several times, and never held together.
// Only a few numbers of each object stay in memory.
package answer
