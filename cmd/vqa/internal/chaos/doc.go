// Package chaos runs three nodes of the service behind one address, lets customers use them, and
// breaks one thing after another. Afterwards it checks that nothing was lost, billed twice or failed.
//
// It has only tests: TestChaos, for about two minutes in make test, and for ten minutes as make chaos.
// docs/reliability.md has the faults and the measured figures.
//
//	plan      which fault hits what and when, and what each customer does: a function of the seed
//	world     Postgres, engines, nodes and the address in front of them
//	faults    how a fault begins and how it heals
//	customers requests with the retries that docs/contract.md#retry tells a client to do
//	judge     what must hold afterwards
//	report    the figures and the picture
//
// The same seed gives the same faults and the same sequence of operations for each customer. It does
// not give the same interleaving, because processes and the network take their own time.
package chaos
