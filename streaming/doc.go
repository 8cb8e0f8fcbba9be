// Package streaming is the folder of live video: media that arrives over WebRTC becomes pictures.
//
//   - assemble makes complete pictures of RTP packets and decides which packets to ask for again.
//   - peer is the WebRTC end of the service: addresses, negotiation, ICE, TURN, diagnosis.
//   - message has the messages of signaling with their JSON form.
//   - record stores the pictures of a stream and makes files of them.
//   - decode turns pictures into samples for the engine, with one ffmpeg for each stream.
//   - live runs the sessions of a node: answers, the live clock, credits, and the end.
//   - signal connects clients with sessions: WebSocket, WHIP and server-sent events.
//
// These packages do not know the log, and only signal knows HTTP. They report what happens through functions that
// their users pass in.
package streaming
