// Package camera sends a video file or a network camera to a live stream over WebRTC, as a browser does:
// it signals over the WebSocket of the stream and reads the results there.
//
// It may import handlers/intake/ffmpeg, streaming/message, pion and the WebSocket library. It calls no
// other part of the service, so the command line can do only what the public API allows.
//
// ffmpeg reads the source at its own speed and encodes it: H.264 without B-frames, at most 1280 pixels on
// the longer side, 30 pictures per second, a keyframe each second. The service requests a keyframe after
// a loss; the next one of these is the answer.
//
//	joining    the socket is open             Ready: send an offer
//	offered    the offer was sent             Answer, then ICE: connected
//	connected  the source is read and sent    end of the source, ctx or the service: ending
//	                                          no packets for 3 s: away
//	away       ICE starts again each 5 s      connected; the service, or awayTime is over: closed
//	ending     the message end was sent       ServerEnd, or endTime is over: closed
//
// A socket that is cut while the stream lives is opened again. The pictures go on meanwhile, also without a
// connection: they are lost then, and the source keeps its speed. Results that came meanwhile are read by their numbers.
package camera
