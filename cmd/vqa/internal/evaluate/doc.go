// Package evaluate asks the questions of a folder of clips through the public API and compares the
// answers with truth.json. It reports the right answers by form of question, the overlap of clips,
// and the calibration of the confidence.
//
// It may import the client and the terminal package. It imports nothing of the service, so that
// it measures what a caller gets.
package evaluate
