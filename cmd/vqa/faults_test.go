package main_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// onlyFaults runs the tests of faultTests and no others. Without it, and without -run, they are skipped.
var onlyFaults = flag.Bool("faults", false, "run only the tests that kill, stop and cut off whole processes")

// faultTests kill, stop or cut off nodes, Postgres, engines and workers. They mostly wait: for leases, for pauses
// between attempts, for processes that start again. `make faults` runs them.
var faultTests = []string{
	"TestAForeignOpenInsert", "TestANodeWithAWrongClock", "TestAStreamOfALostNode", "TestCrashes", "TestCrashesOfTransfers",
	"TestDeletedContentGoes", "TestEngineAway", "TestFaultsOfTheWorker", "TestNodesShareKeyAndStore",
	"TestPostgresIsKilledUnderLoad", "TestRollingUpgrade", "TestSilentEngine", "TestSilentWorkerIsReplaced", "TestTakeover",
	"TestWebhooks", "TestWebhooksOnTwoNodes",
}

// selectTests chooses between the faults and the other tests.
func selectTests() error {
	if run := flag.Lookup("test.run"); run.Value.String() != run.DefValue {
		return nil
	}
	names := "^(" + strings.Join(faultTests, "|") + ")$"
	if *onlyFaults {
		return flag.Set("test.run", names)
	}
	return flag.Set("test.skip", names)
}

// TestFaultTestsExist: a test that was renamed would run nowhere.
func TestFaultTestsExist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(source)
	}
	for _, name := range faultTests {
		require.Contains(t, all.String(), "\nfunc "+name+"(t *testing.T)")
	}
	require.True(t, slices.IsSorted(faultTests))
}
