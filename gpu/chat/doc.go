// Package chat asks a server of the OpenAI chat completions protocol: text and pictures
// go in, a JSON value that satisfies a schema comes out. vLLM, llama.cpp, Ollama and
// hosted services speak it.
//
// It may import the standard library, go-openai and jsonschema.
//
// # Guarantees
//
//   - An answer satisfies the schema of its question: the server is asked to hold to it
//     (response_format json_schema), and what comes is checked here as well.
//
//   - A question ends within its time, connecting and a second try included. Only a call
//     that a server dropped or could not serve (502, 503, 504) is tried again, once.
//
//   - Of an answer at most 1 MiB is read.
//
//   - The key goes to the configured address and nowhere else: no redirect is followed. It
//     is in no error and is never logged; what a server says is cut short in errors.
//
//   - Every error of a question is one of three:
//
//     ErrUnavailable     no connection, no answer in time, 408, 429 or 5xx
//     ErrRefused  every other status, a redirect, and a model that declines to answer
//     ErrInvalid  what is not the protocol, not JSON, not of the schema, or too long
//
// The client is go-openai and not the library of the protocol's author, which makes a
// program 27 MB larger (35 MB against 8.8 MB with net/http alone, and 9.3 MB with this
// one) because its types hold every other service of that vendor.
package chat
