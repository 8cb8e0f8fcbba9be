// Package suite has drawn scenes with questions about them. Everything in a scene is drawn, so the
// truth of every answer, number, place and time is known exactly. The end-to-end tests ask the
// questions.
//
// It is for tests. It may import the package that paints.
package suite
