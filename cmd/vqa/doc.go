// Command vqa is the service and its tools in one program. It reads the configuration, opens the
// parts and connects them. Each subcommand has a file of its own; the packages in internal do their
// work.
//
// It may import every package. It contains no business rules: those are in domain.
package main
