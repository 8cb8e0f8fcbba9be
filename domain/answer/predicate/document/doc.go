// Command document writes the tables of docs/questions.md, the page of the questions that are answered,
// from the rows of package predicate:
//
//	document QUESTIONS.MD
//
// A table is between the lines "<!-- begin NAME -->" and "<!-- end NAME -->". The rest of the page is
// written by hand. The examples are questions that are answered; a test compiles them.
//
// It may import all of domain.
package main
