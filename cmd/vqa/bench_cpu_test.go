package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clockTick is the unit of /proc/PID/stat.
const clockTick = 10 * time.Millisecond

// workerTime returns the processor time that the embedded worker has used.
func workerTime(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", workerProcess(b), "stat"))
	require.NoError(b, err)
	// The third and the later fields follow after the name in brackets.
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	user, err := strconv.Atoi(fields[11])
	require.NoError(b, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(b, err)
	return time.Duration(user+system) * clockTick
}

// workerProcess is the id of the embedded worker's process.
func workerProcess(b *testing.B) string {
	b.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(b, err)
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // the thread may have ended
		for child := range strings.FieldsSeq(string(children)) {
			command, _ := os.ReadFile(filepath.Join("/proc", child, "cmdline"))
			if strings.Contains(string(command), "src/main.js") {
				return child
			}
		}
	}
	b.Fatal("no worker runs")
	return ""
}

// usedTime returns the processor time of this process, or of its ended children.
func usedTime(b *testing.B, who int) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(who, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
