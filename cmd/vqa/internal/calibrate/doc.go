// Package calibrate fits the calibration of an engine to labeled clips: the parameters with which
// package answer turns raw scores into probabilities and answers.
//
// The questions of truth.json are the labels ([Pairs]). [Fit] makes the probability of a class match
// them. [Choose] sets what decides between answers, by the questions that come out right. The figures
// of [Report] leave out each clip in turn.
//
// It may import domain/answer, domain/evidence, domain/query, domain/sampling and evaluate.
package calibrate
