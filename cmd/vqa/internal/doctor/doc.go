// Package doctor examines an installation by using its parts: the data folder, the database,
// ffmpeg, the inference engine and the language models. It also runs a whole analysis of a demo
// video. Each finding describes a part and how to repair it.
//
// The subcommand hands over the settings and the functions that open the parts. The checks use the
// same code as the service, so they may import domain, handlers, gpu, eventstore/node and the
// embedded database. They also import the client and the terminal package. They write nothing to
// the database.
package doctor
