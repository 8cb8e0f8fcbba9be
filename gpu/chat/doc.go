// Package chat is a client of the OpenAI chat completions protocol. A request carries text
// and images; the answer is a JSON value that matches a schema. vLLM, llama.cpp, Ollama and
// hosted services speak this protocol.
//
// It may import the standard library, go-openai and jsonschema.
//
// # Guarantees
//
//   - An answer matches the schema of its request. The server is asked to enforce the schema
//     (response_format json_schema), and the client checks the answer as well.
//
//   - A call ends within its timeout, which includes connecting and a second attempt. The
//     client tries again once, and only when the connection broke or the status is 502, 503
//     or 504.
//
//   - At most 1 MiB of an answer is read.
//
//   - The API key is sent only to the configured address, because the client follows no
//     redirect. The key is never logged and in no error. An error quotes at most 200 bytes
//     of the server's text.
//
//   - Every error of a call is one of three, or the error of the caller's context:
//
//     ErrUnavailable  no connection, no answer in time, 408, 429 or 5xx
//     ErrRefused      every other status, a redirect, and a model that declines to answer
//     ErrInvalid      not the protocol, not JSON, not of the schema, or too long
//
// The client uses go-openai (program size 9.3 MB). The official library makes it 35 MB, because
// its types describe every other service of that vendor. net/http alone gives 8.8 MB.
package chat
