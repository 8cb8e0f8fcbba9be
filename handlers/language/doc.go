// Package language is what the service asks models of language: to compile a prompt, to
// write a narrative in better prose, and to look at pictures where the detector cannot
// tell. Nothing here is needed: the rules of domain/query and domain/narrative, and the
// detector, do without a model, and are what is left when it is away.
//
// # Guarantees
//
//   - What a model says is held against a JSON Schema and against the rules of the domain
//     before it is believed. A compiled query passes query.Validate and has the prompt that
//     was asked about; a narrative has as many entries as before, at the same times; an
//     opinion names only pictures that were shown.
//   - A prompt, a narrative and the words in a picture are data to a model. One that is
//     talked into something else can spoil only the answer of whoever talked it into that.
//   - Every question to a model has a deadline. After three failures in a row a model is
//     left alone for half a minute, then one question tries it, so that a dead server costs
//     nothing. The log says once that it went away, and once that it is back.
//   - Compiled prompts are remembered, a bounded number of them, so that a preview and the
//     analysis after it agree.
//
// What was compiled, written or said is not the same again at another server or after a
// restart: a model samples. The query of an analysis is stored with it.
//
// Which readings of a prompt are used, first match wins:
//
//	the model says                                             used
//	nothing in time, or nothing valid                          the rules'
//	open_ended, and the rules can answer the prompt            the rules'
//	a form that is not answered here                           the rules'
//	anything else                                              the model's
//
// It may import domain, gpu/chat and gobreaker.
package language
