package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMasked(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value  string
		secret bool
		want   string
	}{
		{"", true, ""},
		{"host=db password=hunter2", true, "xxxxx"},
		{"postgres://u:hunter2@db/x", true, "postgres://u:xxxxx@db/x"},
		{"postgres://db/x?user=u&password=hunter2", true, "postgres://db/x?password=xxxxx&user=u"},
		{"postgres://db/x", true, "postgres://db/x"},
		{"/var/lib/vqa", false, "/var/lib/vqa"},
		{"http://u:hunter2@gpu", false, "http://u:xxxxx@gpu"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, Masked(tt.value, tt.secret), tt.value)
	}
}
