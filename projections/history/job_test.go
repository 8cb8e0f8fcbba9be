package history_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/projections/history"
)

// TestAJobOfADeadNodeIsLost: River ends the row of a job long after its node has died. Until then the row
// says that the job runs.
func TestAJobOfADeadNodeIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record()
	for _, sql := range []string{
		`insert into nodes (name, holder, epoch, started_at, renewed_at, lease_until)
		 values ('alive', 'test', 2, clock_timestamp(), clock_timestamp(), clock_timestamp() + interval '1 hour')`,
		`update river_job set state = 'running', finalized_at = null, attempted_by = array['before@1', 'alive@2'] where state = 'discarded'`,
		`update river_job set state = 'running', finalized_at = null, attempted_by = array['alive@2', 'alive@1'] where state = 'completed'`,
	} {
		_, err := w.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	x, err := w.reader.Why(t.Context(), asked, 9)
	require.NoError(t, err)
	lost := map[string]bool{}
	var collect func([]*history.Step)
	collect = func(steps []*history.Step) {
		for _, s := range steps {
			if s.Job != nil {
				require.Equal(t, "running", s.Job.State)
				lost[s.Job.Node] = s.Job.Lost
			}
			collect(s.Steps)
		}
	}
	for _, c := range x.Chains {
		collect(c.Steps)
	}
	require.Equal(t, map[string]bool{"alive@2": false, "alive@1": true}, lost)
}
