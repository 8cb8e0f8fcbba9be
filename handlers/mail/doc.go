// Package mail sends emails through the SMTP server of the operator. An address that is wrong for good
// is an error like any other: the caller decides how often to try.
//
// It may import the standard library and go-mail.
package mail
