// Package assembletest makes RTP packets of pictures for tests.
//
// It may import streaming/assemble and pion/rtp. Only tests import it.
package assembletest
