package main_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/gpu/fixture"
	"vqa/handlers/intake/ffmpeg/ffmpegtest"
)

const (
	// overloadPeriod is the time of one offered rate. The first overloadWarmup of it is not counted: it
	// opens connections and fills caches.
	overloadPeriod = 12 * time.Second
	overloadWarmup = 2 * time.Second
	// overloadReads and overloadTests are the requests per second beside the creates: reads of another
	// account, three of one analysis to one page, and creates with a test key.
	overloadReads, overloadTests = 100, 10
	// overloadAccounts is the number of accounts that create analyses.
	overloadAccounts = 16
	// busyVideos is the number of videos that occupy the worker, each of busySeconds of black pictures.
	busyVideos, busySeconds = 6, 120
)

// overloadRates are the offered creates with a live key, per second.
var overloadRates = rates{50, 200, 500, 1000, 2000}

// rates is a flag with a list of numbers.
type rates []int

// String implements flag.Value.
func (r *rates) String() string { return fmt.Sprint([]int(*r)) }

// Set implements flag.Value.
func (r *rates) Set(text string) error {
	*r = nil
	for field := range strings.SplitSeq(text, ",") {
		rate, err := strconv.Atoi(field)
		if err != nil || rate < 1 {
			return fmt.Errorf("%q is not a number of creates per second", field)
		}
		*r = append(*r, rate)
	}
	return nil
}

func init() {
	flag.Var(&overloadRates, "overload.rates", "offered creates per second of BenchmarkOverload, comma-separated")
}

// BenchmarkOverload measures a node whose clients create more analyses than it can record. Each rate
// gets a new service, a process with its own Postgres and a worker that is busy with earlier
// analyses. Client, service, database and worker share the cores.
func BenchmarkOverload(b *testing.B) {
	fmt.Printf("\n### Overload\n\n%d cores; %d reads and %d creates with a test key per second besides.\n\n", runtime.NumCPU(), overloadReads, overloadTests)
	fmt.Println("| offered | accepted | refused | accepted p50 | p95 | p99 | refused p50 | p99 | reads p50 | p99 | test p50 | p99 | failed | service | worker | client |")
	fmt.Println("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	best, most, last := 0.0, 0, 0.0
	for b.Loop() {
		for _, rate := range overloadRates {
			r := overloadRound(b, rate)
			r.print(rate)
			best, most, last = max(best, r.goodput()), max(most, rate), r.goodput()
		}
	}
	b.ReportMetric(0, "ns/op") // the time of a round means nothing
	fmt.Printf("\nAt %d creates per second the node accepts %.2f of its best.\n\n", most, last/best)
	require.Greater(b, last, best/2, "the throughput collapses under load")
}

// The kinds of requests of a round.
const (
	liveCreate = iota
	testCreate
	read
)

// overloadResult are the figures of one rate.
type overloadResult struct {
	accepted, refused, reads, tests []time.Duration
	// done is the number of accepted creates that were answered within the period.
	done, failed            int
	service, worker, client time.Duration
	// period is the counted time, and took the time until the last response.
	period, took time.Duration
}

// goodput returns the accepted creates per second.
func (r overloadResult) goodput() float64 { return float64(r.done) / r.period.Seconds() }

func (r overloadResult) print(rate int) {
	share := func(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()/r.took.Seconds()) }
	fmt.Printf("| %d | %.0f/s | %.0f/s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %d | %s | %s | %s |\n", rate,
		r.goodput(), float64(len(r.refused))/r.period.Seconds(),
		at(r.accepted, .5), at(r.accepted, .95), at(r.accepted, .99), at(r.refused, .5), at(r.refused, .99),
		at(r.reads, .5), at(r.reads, .99), at(r.tests, .5), at(r.tests, .99), r.failed,
		share(r.service), share(r.worker), share(r.client))
}

// at returns the quantile of times as text.
func at(all []time.Duration, share float64) string {
	if len(all) == 0 {
		return "–"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f ms", float64(all[min(int(share*float64(len(all))), len(all)-1)].Microseconds())/1000)
}

// overloadRound offers one rate to a new service.
func overloadRound(b *testing.B, rate int) overloadResult {
	b.Helper()
	s, err := newService(embeddedWorker, "VQA_MAX_CONCURRENT_ANALYSES=1000000", "VQA_ANALYSIS_QUEUE_CAP=1000000",
		"VQA_MAX_CONNECTIONS_PER_ADDRESS=0", "VQA_ARTIFACTS=false", "VQA_CAP_LOOPBACK=false")
	require.NoError(b, err)
	require.NoError(b, s.start())
	defer func() { require.NoError(b, s.terminate()) }()
	prepared := prepareOverload(b, s)
	worker := workerOf(b, s.cmd.Process.Pid)

	load := &openLoop{addr: s.addr}
	defer load.close()
	every := func(kind, perSecond int, payload func(i int) []byte) {
		for i := range perSecond * int(overloadPeriod.Seconds()) {
			load.plan(kind, time.Duration(i)*time.Second/time.Duration(perSecond), payload(i))
		}
	}
	every(liveCreate, rate, prepared.create)
	every(testCreate, overloadTests, prepared.test)
	every(read, overloadReads, prepared.read)

	serviceBefore, workerBefore, clientBefore := cpuTime(b, s.cmd.Process.Pid), cpuTime(b, worker), cpuTime(b, os.Getpid())
	began := time.Now()
	shots := load.run()
	r := overloadResult{
		period: overloadPeriod - overloadWarmup, took: time.Since(began),
		service: cpuTime(b, s.cmd.Process.Pid) - serviceBefore, worker: cpuTime(b, worker) - workerBefore, client: cpuTime(b, os.Getpid()) - clientBefore,
	}
	for _, shot := range shots {
		if shot.due < overloadWarmup {
			continue
		}
		switch {
		case shot.kind == read && shot.status == http.StatusOK:
			r.reads = append(r.reads, shot.took)
		case shot.kind == testCreate && shot.status/100 == 2:
			r.tests = append(r.tests, shot.took)
		case shot.kind == liveCreate && shot.status == http.StatusAccepted:
			r.accepted = append(r.accepted, shot.took)
			if shot.due+shot.took <= overloadPeriod {
				r.done++
			}
		case shot.kind == liveCreate && shot.status == http.StatusServiceUnavailable && shot.retryAfter >= 1:
			r.refused = append(r.refused, shot.took)
		default:
			if r.failed++; r.failed <= 3 {
				b.Logf("kind %d: status %d, Retry-After %d, %v", shot.kind, shot.status, shot.retryAfter, shot.err)
			}
		}
	}
	return r
}

// overloadRequests are the requests of a round as they are sent.
type overloadRequests struct {
	addr    string
	keys    []string
	videos  []string
	testKey string
	fixture string
	known   string
}

// prepareOverload creates the accounts and their videos, and gives the worker work for the round.
func prepareOverload(b *testing.B, s *service) overloadRequests {
	b.Helper()
	brief, long := filepath.Join(workshop, "overload-brief.mp4"), filepath.Join(workshop, "overload-long.mp4")
	if _, err := os.Stat(long); err != nil {
		require.NoError(b, ffmpegtest.WriteClip(b.Context(), brief, 1, []*image.RGBA{fixture.Empty(), fixture.Empty()}))
		pictures := make([]*image.RGBA, 2*busySeconds)
		for i := range pictures {
			pictures[i] = fixture.Empty()
		}
		require.NoError(b, ffmpegtest.WriteClip(b.Context(), long, 2, pictures))
	}
	p := overloadRequests{addr: s.addr}
	busy := s.account(b, 1_000_000)
	for range busyVideos {
		asked := busy.ask(b, busy.readyVideo(b, long), "Is there a dog?")
		require.Equal(b, http.StatusAccepted, asked.status, "%s", asked.raw)
	}
	for range overloadAccounts {
		c := s.account(b, 1_000_000)
		p.keys, p.videos = append(p.keys, c.key.APIKey), append(p.videos, c.readyVideo(b, brief))
	}
	opened := (&apiClient{service: s}).call(b, http.MethodPost, "/v1/sandbox", nil)
	require.Equal(b, http.StatusCreated, opened.status, "%s", opened.raw)
	p.testKey, p.fixture = opened.text("api_key"), opened.text("fixture_video_id")
	tester := &apiClient{s, issued{APIKey: p.testKey}}
	for range 20 {
		p.known = tester.ask(b, p.fixture, opened.text("fixture_prompt")).text("id")
	}
	return p
}

func (p overloadRequests) create(i int) []byte {
	return p.post(p.keys[i%len(p.keys)], p.videos[i%len(p.videos)], i)
}

func (p overloadRequests) test(i int) []byte { return p.post(p.testKey, p.fixture, i) }

func (p overloadRequests) post(key, video string, i int) []byte {
	body, _ := json.Marshal(map[string]string{"video_id": video, "prompt": "Is there a dog?"}) // strings are always valid
	return fmt.Appendf(nil, "POST /v1/analyses HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nIdempotency-Key: overload-%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		p.addr, key, i, len(body), body)
}

func (p overloadRequests) read(i int) []byte {
	path := "/v1/analyses/" + p.known
	if i%4 == 3 {
		path = "/v1/analyses?limit=20"
	}
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, p.addr, p.testKey)
}

// workerOf returns the process id of the embedded worker of a service.
func workerOf(t testing.TB, service int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", service))
	require.NoError(t, err)
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // the thread may have ended
		for child := range strings.FieldsSeq(string(children)) {
			command, _ := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
			if bytes.Contains(command, []byte("src/main.js")) {
				pid, err := strconv.Atoi(child)
				require.NoError(t, err)
				return pid
			}
		}
	}
	require.Fail(t, "no worker runs")
	return 0
}

// cpuTime returns the processor time that a process has used.
func cpuTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	if pid == os.Getpid() {
		var used syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	fields := statOf(t, pid)
	user, err := strconv.Atoi(fields[11])
	require.NoError(t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(t, err)
	return time.Duration(user+system) * clockTick
}

// clockTick is the unit of /proc/PID/stat.
const clockTick = 10 * time.Millisecond

// statOf returns the fields of /proc/PID/stat from the third on, the state.
func statOf(t testing.TB, pid int) []string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(after)
}
