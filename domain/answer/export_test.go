package answer

// Runs is for the tests of this package.
var Runs = sampleRuns
