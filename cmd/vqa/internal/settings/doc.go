// Package settings writes docs/configuration.md from the tags of the configuration struct in
// cmd/vqa/config.go, so that the document cannot differ from the program.
//
// It reads the source instead of the type, because a program cannot import package main. It
// imports the standard library only.
package settings
