// Package confine turns a process of this program into another program under limits. It is
// the part of package ffmpeg that runs in the child.
//
// It may import the standard library, golang.org/x/sys, and the libraries that set up
// Landlock and seccomp. It must not import package net or what depends on it: the init
// functions of packages run in the order of their names as far as their imports allow, and
// without net those of this package run before half of the others.
package confine
