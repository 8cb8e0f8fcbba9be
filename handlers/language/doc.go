// Package language uses language models for three tasks. They compile a prompt, write a narrative
// in better prose, and look at frames when the detector finds no answer. The service works without
// any of them. The rules of domain/query and domain/narrative, and the detector, do the work when
// no model is configured or a model fails.
//
// # Guarantees
//
//   - An answer of a model is used only when it matches a JSON Schema and the rules of the
//     domain. A compiled query passes query.Validate and has the prompt of the request. A
//     narrative keeps the number of entries and their times. An opinion names only frames
//     that were shown.
//   - A prompt, a narrative and text inside a frame are data for a model. Instructions hidden
//     in them can spoil only the answer to the request that carries them.
//   - Every request to a model has a deadline. After three failures in a row no request is
//     sent for half a minute; then a single request tries the model. A dead server therefore
//     costs no time. The log has one line when a model starts to fail and one when it works
//     again.
//   - A bounded number of compiled prompts is cached, so that a preview and the analysis after
//     it agree.
//
// A model samples, so another server, or the same one after a restart, may give a different
// answer. The query of an analysis is therefore stored with the analysis.
//
// This table says whose query is used. The first match wins:
//
//	answer of the model                                        query used
//	none in time, or an invalid one                            that of the rules
//	open_ended, and the rules can answer the prompt            that of the rules
//	a form that the service does not answer                    that of the rules
//	anything else                                              that of the model
//
// It may import domain, gpu/chat and gobreaker.
package language
