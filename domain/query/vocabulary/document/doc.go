// Command document writes docs/words.md, the page of the words that have classes in COCO, from the
// table of them:
//
//	document CLASSES.TXT WORDS.MD
//
// It imports no package of vqa.
package main
