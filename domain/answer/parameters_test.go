package answer_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
)

func TestParametersAreComplete(t *testing.T) {
	t.Parallel()
	shipped := answer.CPU().Parameters
	raw, err := json.Marshal(shipped)
	require.NoError(t, err)
	back, err := answer.ParseParameters(raw)
	require.NoError(t, err)
	require.Equal(t, shipped, back)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(raw, &fields))
	delete(fields, "quality") // a calibration by hand has none
	for name := range fields {
		less := map[string]any{}
		for k, v := range fields {
			if k != name {
				less[k] = v
			}
		}
		short, err := json.Marshal(less)
		require.NoError(t, err)
		_, err = answer.ParseParameters(short)
		require.ErrorContains(t, err, name+": required")
	}
	for name, wrong := range map[string]any{
		"weights": "", "keep": 0, "rival_overlap": 2, "exclusion": -1, "floor": .5, "gap_s": 0, "lift": -1, "doubt": []float64{.7, .6}, "cap_prior": .99, "color": 1,
		"quality": answer.Quality{Present: 3, Absent: 4, AUC: 1.1},
	} {
		bad := map[string]any{}
		for k, v := range fields {
			bad[k] = v
		}
		bad[name] = wrong
		text, err := json.Marshal(bad)
		require.NoError(t, err)
		_, err = answer.ParseParameters(text)
		require.ErrorContains(t, err, name)
	}
}

func TestCalibrationsAreDocumentsInSequence(t *testing.T) {
	t.Parallel()
	document := func(weights string) []byte {
		p := answer.CPU().Parameters
		p.Weights = weights
		raw, err := json.MarshalIndent(p, "", "  ")
		require.NoError(t, err)
		return raw
	}
	all, err := answer.ParseCalibrations(append(document("a"), document("b")...))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "b", all["b"].Weights)
	for text, message := range map[string]string{
		"":                           "document 0: EOF",
		string(document("a")) + "x":  "document 1: invalid",
		string(document("a")) + "{}": "document 1",
		string(document("")):         "weights: give the name",
		string(document("a")) + string(document("a")): `the weights "a" are listed twice`,
	} {
		_, err := answer.ParseCalibrations([]byte(text))
		require.ErrorContains(t, err, message, text)
	}
}
