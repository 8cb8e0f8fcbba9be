package assemble_test

import (
	"bytes"
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"vqa/streaming/assemble"
	"vqa/streaming/assemble/assembletest"
)

// network delivers packets late, twice, out of order or never. Times are virtual.
type network struct {
	random    *rand.Rand
	loss, dup float64
	jitter    time.Duration
	queue     arrivals
	order     int
}

type arrival struct {
	at     time.Time
	order  int
	packet *rtp.Packet
}

type arrivals []arrival

func (q arrivals) Len() int { return len(q) }
func (q arrivals) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].order < q[j].order
}
func (q arrivals) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *arrivals) Push(x any)   { *q = append(*q, x.(arrival)) } //nolint:forcetypeassert // heap passes what it got
func (q *arrivals) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (n *network) lost() bool { return n.random.Float64() < n.loss }

func (n *network) send(now time.Time, p *rtp.Packet) {
	copies := 1
	if n.random.Float64() < n.dup {
		copies = 2
	}
	for range copies {
		if n.lost() {
			continue
		}
		delay := 20 * time.Millisecond
		if n.jitter > 0 {
			delay += time.Duration(n.random.Int64N(int64(n.jitter)))
		}
		n.order++
		heap.Push(&n.queue, arrival{now.Add(delay), n.order, p})
	}
}

// call is one session over a network.
type call struct {
	*assembletest.Encoder
	*receiver
	net      *network
	pictures [][]byte
	keys     []bool
	sent     map[uint16]*rtp.Packet
	keyWish  bool
	repairs  bool
}

func newCall(codec assemble.Codec, seed uint64, loss, dup float64, jitter time.Duration) *call {
	random := newRandom(seed)
	return &call{
		Encoder: assembletest.New(codec, random), receiver: newReceiver(codec), sent: map[uint16]*rtp.Packet{}, keyWish: true, repairs: true,
		net: &network{random: random, loss: loss, dup: dup, jitter: jitter},
	}
}

// run sends n pictures at 30 per second and repairs what the receiver asks for, then waits for the
// rest.
func (c *call) run(n int) {
	now := start.Add(time.Duration(len(c.pictures)) * time.Second / 30)
	for range n {
		key := c.keyWish
		c.keyWish = false
		picture := c.Encode(key)
		c.pictures, c.keys = append(c.pictures, picture), append(c.keys, key)
		for _, p := range c.Packets(picture) {
			c.sent[p.SequenceNumber] = p
			c.net.send(now, p)
		}
		until := now.Add(time.Second / 30)
		c.arrive(until)
		now = until
	}
}

func (c *call) arrive(until time.Time) {
	for {
		next := until
		if len(c.net.queue) > 0 && c.net.queue[0].at.Before(next) {
			next = c.net.queue[0].at
		}
		if due := c.Due(); !due.IsZero() && due.Before(next) {
			next = due
		}
		for len(c.net.queue) > 0 && !c.net.queue[0].at.After(next) {
			c.push(next, heap.Pop(&c.net.queue).(arrival).packet) //nolint:forcetypeassert // the queue has arrivals
		}
		f := c.Feedback(next)
		if f.Keyframe && !c.net.lost() {
			c.keyWish = true
		}
		for _, seq := range f.Missing {
			if c.repairs && !c.net.lost() {
				c.net.send(next, c.sent[seq])
			}
		}
		if !next.Before(until) {
			return
		}
	}
}

// check fails when a delivered picture is not an original, or its predecessor was not delivered.
// It returns how many were delivered.
func (c *call) check(t require.TestingT) int {
	last, at := -1, 0
	for _, f := range c.frames {
		i := int(f.Time / 3000)
		for ; at < len(c.pictures) && !bytes.Equal(c.pictures[at], f.Data); at++ {
		}
		require.Less(t, at, len(c.pictures), "a delivered picture is not one of the originals, or comes out of order")
		require.Equal(t, c.keys[at], f.Key)
		require.True(t, f.Key || last == at-1, "picture %d was delivered without the one before it", at)
		require.LessOrEqual(t, i, at, "the clock starts at the first packet to arrive")
		last = at
		at++
	}
	return len(c.frames)
}

// TestOnlyWholePicturesUnderAnyNetwork is the guarantee of the package.
func TestOnlyWholePicturesUnderAnyNetwork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		codec := rapid.SampledFrom(allCodecs).Draw(t, "codec")
		c := newCall(codec, rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0, 0.6).Draw(t, "loss"),
			rapid.Float64Range(0, 0.3).Draw(t, "duplicates"), time.Duration(rapid.IntRange(0, 80).Draw(t, "jitter ms"))*time.Millisecond)
		c.repairs = rapid.Bool().Draw(t, "repairs")
		c.run(60)
		c.check(t)
		// It recovers when the loss ends: all of the last second is delivered.
		c.net.loss = 0
		c.run(200)
		c.net.jitter = 0
		c.run(31)
		c.check(t)
		n := len(c.pictures)
		require.GreaterOrEqual(t, len(c.frames), 30)
		require.Equal(t, described(c.pictures[n-30:]...), c.got()[len(c.frames)-30:])
	})
}

// TestRepair sends pictures over networks with loss in both directions.
func TestRepair(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		loss    float64
		atLeast int // of 600
	}{{"2 %", .02, 590}, {"10 %", .1, 590}, {"30 %", .3, 540}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachCodec(t, func(t *testing.T, s *assembletest.Encoder, _ *receiver) {
				c := newCall(s.Codec, 11, tt.loss, 0, 5*time.Millisecond)
				c.SetRoundTrip(45 * time.Millisecond)
				c.run(600)
				c.net.loss = 0
				c.arrive(start.Add(time.Hour))
				require.GreaterOrEqual(t, c.check(t), tt.atLeast)
			})
		})
	}
}
