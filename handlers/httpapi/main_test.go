package httpapi_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// testsPerCore is how many tests run at once for each core. A test takes 0.5 s, of which it
// spends 0.1 s on a core and waits for the database in the rest.
const testsPerCore = 4

// TestMain raises the number of tests that run at once. -parallel 1 stays in force.
func TestMain(m *testing.M) {
	flag.Parse()
	most := testsPerCore * runtime.GOMAXPROCS(0)
	given, err := strconv.Atoi(flag.Lookup("test.parallel").Value.String())
	if err == nil && given > 1 && given < most {
		err = flag.Set("test.parallel", strconv.Itoa(most))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
