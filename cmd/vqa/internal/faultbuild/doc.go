// Package faultbuild builds the program with two faults that a test can switch on while it runs: a
// wrong clock and a full disk. A test needs no rights for them.
//
// It is for tests. It may import the standard library.
//
// Build compiles the program with changed copies of two files of the standard library, so every part
// of the program meets the fault:
//
//   - time.Now adds the seconds of the page. Timers and durations use the monotonic clock, as they do
//     on a machine whose clock was moved.
//   - A write to a regular file returns ENOSPC while the page says that the disk is full. Sockets,
//     pipes and standard error are not affected, and neither are child processes.
//
// A Page is a file that the program maps into its memory. A process reads the page named by the
// variable FAULT_PAGE, and has no fault without it.
package faultbuild
