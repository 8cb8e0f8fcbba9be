// Package terminal prints for people: tables, progress, timelines, numbers and colors. It
// finds out whether a terminal, a file or a program reads the output.
//
// Everything that a subcommand prints goes through Escape. Names, prompts and errors come from
// other people, so text could otherwise move the cursor or hide parts of the output.
//
// It imports no other package of this module.
package terminal
