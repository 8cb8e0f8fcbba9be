// Package evaluate asks the questions of a folder of clips through the public API and compares
// the answers with truth.json: right answers by form of question, overlap of clips, and how far
// the confidence can be believed.
//
// It may import the client and the terminal package. It imports nothing of the service, so that
// it measures what a caller gets.
package evaluate
