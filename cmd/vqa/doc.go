// Command vqa is the service and its tools in one program: it reads the
// configuration, builds the parts and joins them. A file per subcommand.
//
// It may import everything and decides nothing: rules live in domain.
package main
