// Package confine turns a process of this program into ffmpeg under limits. It is the part of
// package ffmpeg that runs in the child.
//
// It may import the standard library, golang.org/x/sys, and the libraries that set up Landlock
// and seccomp. It must not import package net or a package that depends on it. Init functions
// run in the order of package names, after those of imported packages. Without net, the init
// function here runs before half of the others, so a start is faster.
package confine
