// Package answer turns what a model saw in the sampled frames of a video into the
// result of an analysis, by the result rules of the contract (api-v1.md, "Result
// rules" 1 to 9) and the open points ("Answers").
//
// Imports: the standard library, domain/evidence and domain/query. Pure: no clock, no randomness; the
// same query, evidence and calibration give the same result, bit for bit.
//
// How [Decide] reasons about one subject:
//
//  1. The subject's classes are looked up; detections of several of its classes at
//     one place are one object. A class that is only confused with the subject counts
//     where the subject is seen too (query.Vocabulary.Confused).
//  2. Neighbouring samples that reach Keep form a run; one missed sample does not end
//     it. A weak sight counts next to a strong one; alone it makes a `no` less sure,
//     and undecided when it lasts for Sustained samples.
//  3. A run is trusted when two neighbouring samples of it pass Threshold on average,
//     three pass Faint or one passes Peak, and when no other class outvotes the subject at
//     the same place over the run: the weak "cat" on a dog is the dog. A sight below
//     Threshold is worth half where any other class scores as much. So is a person below
//     Firm where all other classes together score Spread times as much.
//  4. Trusted runs are the clips. They end half way between two samples or, where frames
//     between those were looked at (Evidence.Fine), half way between the last of them that
//     shows the subject and the next. The count is the largest number that two
//     neighbouring samples of a trusted run both show, or Sustained samples of things that
//     are about as large as the best.
//
// Conditions narrow the objects of each frame: an object scores what is worth the
// product of the probabilities that it is the subject and that it satisfies them, and
// everything above holds of these scores. What a frame cannot tell (a body that is cut
// off, a model without colours) is untold:
//
//	condition  told by                                       untold when
//	location   the third that the centre of the box is in    never
//	relation   the boxes of both things in the frame: what   the model does not know the
//	           stands lower is in front                      other thing
//	on the     nothing beneath to sit or lie on; of who      the feet are not seen; who
//	ground     sits, the hips are near the feet              stands
//	colour     the share of the colour, and of its shades,   the model names no colours
//	           in the box
//	clothes    the share of the colour in the quarters of    the model names no colours;
//	           the body where they are worn                  trousers: the legs are cut off
//	size       the share of the frame                        never
//	posture    the joints: heights of hips and knees by the  the joints are not seen or cut
//	           torso, a wrist above its elbow and shoulder,  off, and were not within two
//	           both wrists at the other arm's elbow and the  seconds; arms: nor seen from
//	           forearms level; a slender box; that of the    the side
//	           same body shortly before or after
//	gait       the way of the box through the samples, in    it shows in no sample near by,
//	           its heights a second; in a still picture the  or a picture does not show the
//	           way between the feet                          feet
//	jump       head, hips and feet rise together and come    in a still picture, or in one
//	           down again, through all looks                 sight alone
//	fall       a box higher than wide is a low one within    in a still picture, or in one
//	           1.5 s, and stays so                           sight alone
//	enter,     the ends of a track: by a side of the frame;  never; who appears in the middle
//	leave      one who is there at the first sample does     of the frame makes a no less
//	           not enter                                     sure
//	a narrower that the class is not there: a person may be  the class is there
//	word       a woman or not (query.Vocabulary.Narrower);
//	           one that is presupposed is whoever is seen,
//	           less surely where several are
//	time       the frames that are looked at                 never; none: nothing_detected
//
// What happens has a time of its own, which is its clip. A jump and a fall show in looks
// closer than the samples only: [Stirs] says where those may be, of whom Evidence.Fine tells.
//
// A compound of all asks for its subjects in the same frames: the least of their scores
// counts. What must be absent must be so throughout. A compound of any is as sure as the
// surest of its subjects.
//
// What follows for the answer, first match wins:
//
//	evidence                                        answer          reason
//	form or condition not answered today            indeterminate   unsupported_…
//	no frames, or the model does not know the term  indeterminate   nothing_detected
//	a trusted run                                   yes/no by form  -
//	a trusted run but for what is untold, unless    indeterminate   low_confidence
//	the number asked about is right or wrong
//	either way
//	about even odds, or a weak sight that lasts,    indeterminate   low_confidence
//	or one over Faint
//	that no neighbour supports and none outvotes,
//	or a best score that Absence calls undecided
//	conditions on what may not be there at all      indeterminate   low_confidence
//	nothing, and the classes do not cover the word  indeterminate   nothing_detected
//	nothing                                         no (absence: yes)  -
//
// The best score of a class bounds how sure a no is (Calibration.Absence), in every form that
// rests on absence. A question with conditions is decided with every subset of them too, and
// is never surer than one with fewer that has an answer. A count has evidence instead of
// clips: the parts of the video in which its number is visible.
//
// A compound is no as soon as one of all, or every one of any, is no; else it is
// indeterminate when one of its subjects is and the others do not settle it.
//
// Objects are followed through the samples: the nearest of the next sample, or of the one
// after, is taken for the same, by the way between the boxes in their heights, unless it
// came far and might be another. The way tells gaits, and a stance holds for a moment.
// Ways and spots are those in the scene: what the brightness of two samples
// (Frame.Shades) tells of how the camera turned is taken out, as far as they match at one
// shift much better than at any other, beside the objects; else the camera is taken to
// stand, and where the pictures differ too much for that, gaits are untold. That it comes
// nearer is not told.
// [Tracks] are the same for what is told and drawn of a video; the support that makes a
// track trusted is that of a run.
//
// Guarantees: indeterminate has confidence 0; every confidence is within 0..1; clips
// are ordered, disjoint, within the duration and at most 500; evidence of any shape
// is answered without a panic, and the order of detections in a frame is irrelevant.
// Frames with an evidence.Source are looked at one after the other, several times, and never held
// together: of each thing in a frame a few numbers stay in memory.
package answer
