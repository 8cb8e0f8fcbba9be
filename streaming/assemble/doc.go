// Package assemble makes complete pictures of the RTP packets of H.264, VP8 and VP9.
//
// It may import the standard library and pion/rtp. It reads no clock and starts no goroutine: the
// caller passes the times in, and asks by Feedback which packets to request again.
//
// # Which pictures are delivered
//
// A picture is delivered when every packet arrived from the end of the previous picture to its own
// end. A gap that is given up drops its picture and all later ones until the next keyframe, because
// they refer to the missing one. Decoders cannot detect such damage: of 300 pictures with 2% loss
// and no check, 255 were wrong.
//
// A picture ends at the packet with the marker, or before a packet with another time. The first
// picture after a gap must begin provably: at a sequence parameter set (H.264), at the first
// partition (VP8), or at the bit for the beginning (VP9).
//
// A keyframe carries its parameter sets. When the sender sent them earlier only, they are put
// before it, so that a decoder can begin there.
//
// H.264 access units without an IDR slice are not keyframes, also with a recovery point. Of VP9
// with spatial layers, the base layer is delivered.
//
// # Gaps
//
// A missing packet is requested for the first time 10 ms after the packet behind it arrived, since
// it may only be late. It is requested at most 10 times, at intervals of the round-trip time, 30 ms
// to 1 s, and given up one interval after the last request. The time of each gap starts on its
// own, so that gaps in a row do not add up.
//
// Without a keyframe to begin with, one is requested: at once, then after 0.3 s, doubled up to 5 s.
// A packet that begins a keyframe then makes all earlier packets obsolete.
//
// # Bounds
//
// At most 1024 packets wait for an earlier one, and a picture has at most 4 MiB. A stream without
// loss holds one picture only.
package assemble
