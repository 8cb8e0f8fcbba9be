package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func ids(line []Place) (all string) {
	for _, p := range line {
		all += p.ID
	}
	return all
}

func TestTheOrderOfTurns(t *testing.T) {
	t.Parallel()
	large := func(id string, seconds float64) Task {
		return Task{ID: id, AccountID: "large", Subject: id, Seconds: seconds}
	}
	small := func(id string) Task { return Task{ID: id, AccountID: "small", Subject: id, Seconds: 2} }
	again := large("y", 90)
	again.Surveyed = true
	shared := large("z", 90)
	shared.Subject = "a"
	running := large("a", 90)
	running.Running = true
	demo := Task{ID: "0", AccountID: "service", Subject: "demo", Seconds: 2, Background: true}
	// The large account has started one video, which made its next tag 90.
	begun := Turns{Now: 0, Until: map[string]float64{"large": 90}}
	for name, tt := range map[string]struct {
		turns Turns
		tasks []Task
		want  string
	}{
		"oldest first":                   {Turns{}, []Task{small("b"), large("a", 9)}, "ab"},
		"a small account beside a large": {begun, []Task{large("b", 90), large("c", 90), small("s")}, "sbc"},
		"by seconds":                     {Turns{}, []Task{large("a", 3), large("b", 3), small("r"), small("s"), small("t")}, "arsbt"},
		"the service comes last":         {begun, []Task{demo, large("b", 90)}, "b0"},
		"a survey costs a second":        {Turns{}, []Task{large("x", 3), again, large("z", 3), small("r"), small("s"), small("t")}, "rxsytz"},
		"a shared scan costs a second":   {Turns{}, []Task{running, shared, large("zz", 9), small("s"), small("t")}, "szzzt"},
		"no turns are saved up":          {Turns{Now: 500, Until: map[string]float64{"large": 501}}, []Task{large("a", 9), small("b"), small("c")}, "bac"},
	} {
		require.Equal(t, tt.want, ids(tt.turns.Line(tt.tasks)), name)
	}
}

// TestTheCostOfAPose: a question about a pose costs the length again when the scan of its video started
// before it was asked. That scan looks for no joints.
func TestTheCostOfAPose(t *testing.T) {
	t.Parallel()
	const length = 90.0
	task := func(id string, createdS int64, pose bool) Task {
		return Task{ID: id, AccountID: "a", Subject: "video", Seconds: length, CreatedAt: time.Unix(createdS, 0), Pose: pose}
	}
	running := task("running", 1, false)
	running.Running, running.StartedAt = true, time.Unix(5, 0)
	withJoints := running
	withJoints.Pose = true
	for name, tt := range map[string]struct {
		tasks []Task
		want  []float64
	}{
		"asked before the scan":           {[]Task{running, task("x", 4, true)}, []float64{answerCostS}},
		"asked after the start":           {[]Task{running, task("x", 6, true)}, []float64{length}},
		"the next one shares its scan":    {[]Task{running, task("x", 6, true), task("y", 7, true)}, []float64{length, answerCostS}},
		"without a pose":                  {[]Task{running, task("x", 6, false)}, []float64{answerCostS}},
		"the running one asks for joints": {[]Task{withJoints, task("x", 6, true)}, []float64{answerCostS}},
		"both wait":                       {[]Task{task("x", 1, false), task("y", 2, true)}, []float64{length, answerCostS}},
	} {
		var got []float64
		for _, p := range (Turns{}).Line(tt.tasks) {
			got = append(got, p.CostS)
		}
		require.Equal(t, tt.want, got, name)
	}
}

func TestRoom(t *testing.T) {
	t.Parallel()
	short, other, film := of("x", waits("a")), of("y", waits("b")), of("z", lengthy(waits("c")))
	room := NewRoom(1, 3)
	room.Enter(short)
	room.Enter(short)
	require.False(t, room.Admits(short), "one account leaves a slot")
	require.True(t, room.Admits(other))
	room.Leave(short)
	room.Leave(short)
	room.Enter(film)
	room.Enter(of("x", film))
	require.False(t, room.Admits(of("y", film)), "long videos leave a slot")
	require.True(t, room.Admits(other))
	room.Enter(other)
	require.False(t, room.Admits(of("w", short)), "all slots are taken")
	lone := NewRoom(2, 1)
	lone.Enter(film)
	require.True(t, lone.Admits(film), "nodes with one slot keep none free")
}

// arrival is a task of a simulation. It waits from its creation until a slot takes it.
type arrival struct {
	Task
	// ahead is the seconds of video by which its account was ahead at its creation.
	ahead float64
	// others are the seconds that each other account has started since.
	others map[string]float64
}

// TestLawsOfTurns plays random queues in virtual time on one slot. It checks the bound of the
// package's documentation, that no slot idles, and that all nodes agree on the order.
func TestLawsOfTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const longest = 90.0
		accounts := rapid.IntRange(1, 5).Draw(t, "accounts")
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var turns Turns
		var waiting []*arrival
		created, started := 0, 0
		tasks := func() (all []Task) {
			for _, a := range waiting {
				all = append(all, a.Task)
			}
			return all
		}
		arrive := func(t *rapid.T) {
			account := fmt.Sprint(rapid.IntRange(1, accounts).Draw(t, "account"))
			a := &arrival{
				Task: Task{
					ID: fmt.Sprintf("%04d", created), AccountID: account, Subject: fmt.Sprint(created), CreatedAt: time.Unix(int64(created), 0),
					Seconds: float64(rapid.IntRange(1, int(longest)).Draw(t, "seconds")),
				},
				others: map[string]float64{},
			}
			a.ahead = max(turns.Until[account]-turns.Now, 0)
			for _, w := range waiting {
				if w.AccountID == account {
					a.ahead += w.Seconds
				}
			}
			waiting = append(waiting, a)
			created++
		}
		start := func(t *rapid.T) {
			line := turns.Line(tasks())
			mixed := tasks()
			shuffle.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			require.Equal(t, line, turns.Line(mixed), "the order does not depend on the order in which a node reads")
			p := line[0]
			turns.Start(p)
			started++
			left := waiting[:0]
			for _, a := range waiting {
				if a.ID == p.ID {
					for other, seconds := range a.others {
						require.LessOrEqual(t, seconds, a.ahead+longest, "account %s overtook %s", other, a.ID)
					}
					continue
				}
				if a.AccountID == p.AccountID {
					require.Less(t, p.ID, a.ID, "an account's own analyses start in their order")
				} else {
					a.others[p.AccountID] += p.CostS
				}
				left = append(left, a)
			}
			waiting = left
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(waiting) == 0 || rapid.Bool().Draw(t, "arrives") {
				arrive(t)
			} else {
				start(t)
			}
		}
		for len(waiting) > 0 {
			start(t)
		}
		require.Equal(t, created, started, "every analysis starts")
	})
}

// TestLawsOfTheForecast checks that a forecast starts every task, keeps the slots busy, and
// never gives all slots to one account or to long videos.
func TestLawsOfTheForecast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := Fleet{
			Nodes: rapid.IntRange(1, 3).Draw(t, "nodes"), Slots: rapid.IntRange(1, 4).Draw(t, "slots"),
			FramesPerS: rapid.Float64Range(0.1, 50).Draw(t, "speed"),
		}
		tasks := make([]Task, rapid.IntRange(0, 30).Draw(t, "tasks"))
		total := 0.0
		for i := range tasks {
			seconds := float64(rapid.IntRange(1, 90).Draw(t, "seconds"))
			tasks[i] = Task{
				ID: fmt.Sprint(i), Subject: fmt.Sprint(i), AccountID: fmt.Sprint(rapid.IntRange(1, 4).Draw(t, "account")),
				CreatedAt: time.Unix(int64(i), 0), Seconds: seconds, Frames: 2 * seconds, Surveyed: seconds > 80,
			}
			total += tasks[i].Frames/f.FramesPerS + answerS
		}
		forecast := f.Forecast(tasks, Turns{}, time.Time{})
		require.Len(t, forecast.sorted, len(tasks))
		now := NewRoom(f.Nodes, f.Slots)
		for i, p := range forecast.line {
			at := forecast.starts[i]
			require.True(t, at >= 0 && at <= total+1e-6, "it starts after %f s", at)
			if at == 0 {
				require.True(t, now.Admits(p.Task), "more starts at once than there is room for")
				now.Enter(p.Task)
			}
			if f.Nodes*f.Slots == 1 && i > 0 {
				require.GreaterOrEqual(t, at, forecast.starts[i-1], "one slot starts them in the order of turns")
			}
		}
		for i, p := range forecast.line {
			require.False(t, forecast.starts[i] > 0 && now.Admits(p.Task), "%s waits beside a free slot", p.ID)
		}
	})
}
