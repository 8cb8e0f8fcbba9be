package id_test

import (
	"crypto/rand"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/id"
)

var prefixes = []id.Prefix{
	id.Account, id.Analysis, id.Batch, id.ClientToken, id.Event, id.Key, id.Request, id.Stream, id.Transaction,
	id.Video, id.Webhook, id.Delivery,
}

// pattern is the form of an id (docs/contract.md#ids).
var pattern = regexp.MustCompile(`^[a-z]+_[0-9A-HJKMNP-TV-Z]{26}$`)

func stopped() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func TestNewHasTheContractsForm(t *testing.T) {
	t.Parallel()
	source := id.NewSource(stopped, rand.Reader)
	for _, p := range prefixes {
		made := source.New(p)
		require.Regexp(t, pattern, made)
		require.True(t, strings.HasPrefix(made, string(p)+"_"), made)
		require.True(t, id.Valid(p, made), made)
		for _, other := range prefixes {
			require.Equal(t, other == p, id.Valid(other, made), "%s as %s", made, other)
		}
	}
}

func TestIDsOfOneMillisecondAscend(t *testing.T) {
	t.Parallel()
	source := id.NewSource(stopped, rand.Reader)
	const workers, each = 8, 500
	made := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				made[w] = append(made[w], source.New(id.Video))
			}
		})
	}
	wg.Wait()
	for _, mine := range made {
		require.True(t, slices.IsSorted(mine), "the ids of one caller ascend")
	}
	all := slices.Concat(made...)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), workers*each, "no id twice")
}

func TestIDsFollowTheClock(t *testing.T) {
	t.Parallel()
	now := stopped()
	source := id.NewSource(func() time.Time { return now }, rand.Reader)
	earlier := source.New(id.Analysis)
	now = now.Add(time.Millisecond)
	require.Less(t, earlier, source.New(id.Analysis))
}

func TestNoIDWithoutEntropy(t *testing.T) {
	t.Parallel()
	source := id.NewSource(stopped, iotest.ErrReader(iotest.ErrTimeout))
	require.Panics(t, func() { source.New(id.Video) })
}

func TestValid(t *testing.T) {
	t.Parallel()
	const good = "01JNQ3ZC8A0123456789ABCDEF"
	for name, test := range map[string]struct {
		id   string
		want bool
	}{
		"well formed":              {"video_" + good, true},
		"all digits":               {"video_" + strings.Repeat("0", 26), true},
		"empty":                    {"", false},
		"prefix only":              {"video_", false},
		"no prefix":                {good, false},
		"wrong prefix":             {"an_" + good, false},
		"longer prefix":            {"xvideo_" + good, false},
		"prefix in upper case":     {"VIDEO_" + good, false},
		"no underscore":            {"video" + good, false},
		"two underscores":          {"video__" + good[1:], false},
		"lower case":               {"video_" + strings.ToLower(good), false},
		"one letter lower":         {"video_" + good[:25] + "f", false},
		"I":                        {"video_" + good[:25] + "I", false},
		"L":                        {"video_" + good[:25] + "L", false},
		"O":                        {"video_" + good[:25] + "O", false},
		"U":                        {"video_" + good[:25] + "U", false},
		"too short":                {"video_" + good[:25], false},
		"too long":                 {"video_" + good + "0", false},
		"space before":             {" video_" + good, false},
		"newline after":            {"video_" + good + "\n", false},
		"26 bytes, not 26 ASCII":   {"video_" + good[:24] + "é", false},
		"a NUL byte":               {"video_" + good[:25] + "\x00", false},
		"Kelvin sign looks like K": {"video_" + good[:23] + "\u212a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, id.Valid(id.Video, test.id), "%q", test.id)
		})
	}
}

// FuzzValid compares Valid with the pattern of the contract.
func TestTime(t *testing.T) {
	t.Parallel()
	made := id.NewSource(stopped, rand.Reader).New(id.Event)
	at, ok := id.Time(made)
	require.True(t, ok)
	require.True(t, stopped().Equal(at))
	for _, text := range []string{"", "evt_", made[4:], made + "0", "evt_IIIIIIIIIIIIIIIIIIIIIIIIII"} {
		_, ok := id.Time(text)
		require.False(t, ok, text)
	}
}

func FuzzValid(f *testing.F) {
	for _, seed := range []string{"video_01JNQ3ZC8A0123456789ABCDEF", "video_", "an_01JNQ3ZC8A0123456789ABCDEI", "video_\xff"} {
		f.Add(seed)
	}
	video := regexp.MustCompile(`^video_[0-9A-HJKMNP-TV-Z]{26}$`)
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, video.MatchString(s), id.Valid(id.Video, s), "%q", s)
	})
}
