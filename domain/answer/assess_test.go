package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"vqa/domain/answer"
	"vqa/domain/query"
	"vqa/domain/query/english"
)

func TestAssessable(t *testing.T) {
	t.Parallel()
	type needs struct{ assessed, pose bool }
	cases := map[string]needs{
		"Is there a dog?":                        {assessed: true},
		"Is there a dog on the left?":            {assessed: true},
		"Is there a red car?":                    {assessed: true},
		"Is there a dog or a red car?":           {assessed: true},
		"Is a person sitting?":                   {assessed: true, pose: true},
		"When is someone raising a hand?":        {assessed: true, pose: true},
		"Is there a dog in the first 5 seconds?": {assessed: true},
		"Is a person walking?":                   {assessed: true, pose: true},
		"Is a person running?":                   {assessed: true},
		"Is the car moving?":                     {assessed: true},
		"Is there a big dog?":                    {assessed: true},
		"Is there a person in a red shirt?":      {assessed: true},
		"Is there a dog in a red shirt?":         {},
		"Is there a person in red trousers?":     {assessed: true},
		"Is there a person in red shoes?":        {},
		"Is there a person wearing a hat?":       {},
		"Is there a dog in front of a car?":      {assessed: true},
		"Is there a dog under a car?":            {assessed: true},
		"Is the dog running?":                    {assessed: true},
		"Is there a dog next to a car?":          {assessed: true},
		"Is someone riding a bicycle?":           {assessed: true},
		"Is there a dog next to a red car?":      {assessed: true},
		"Is there a dog behind a car?":           {assessed: true},
		"Is the dog sitting?":                    {},
		"Is the car running?":                    {},
		"Is an animal running?":                  {},
		"Is there a fluffy dog?":                 {},
		"Is there a red and a fluffy dog?":       {},
		"Is there a dog in the background?":      {},
		"Is the door open?":                      {},
		"Is someone lying on the ground?":        {assessed: true, pose: true},
		"Is there a person on the floor?":        {assessed: true, pose: true},
		"Is there a person at the table?":        {assessed: true},
		"Is there a person across the street?":   {},
		"Are his arms crossed?":                  {assessed: true, pose: true},
		"Is anyone jumping?":                     {assessed: true},
		"Does the dog jump?":                     {assessed: true},
		"Does the ball jump?":                    {},
		"Does the dog jump over a fence?":        {},
		"Does someone fall?":                     {assessed: true},
		"Does the dog fall?":                     {},
		"When does a car enter from the left?":   {assessed: true},
		"Does anyone leave the room?":            {assessed: true},
		"Does anyone leave the bag?":             {},
		"How many people enter the room?":        {},
		"Do two people leave?":                   {},
		"Why?":                                   {},
	}
	for prompt, want := range cases {
		q := english.Compile(prompt)
		require.Equal(t, want, needs{answer.Assessable(q), answer.Needs(q).Pose}, prompt)
	}
	for _, prompt := range []string{"Is the dog sitting?", "How many dogs are dancing?", "When does the dog dance?", "Is there a red dog dancing?"} {
		require.Equal(t, query.UnsupportedActionTerm, answer.Unsupported(english.Compile(prompt)), prompt)
	}
	require.Equal(t, 8, answer.Needs(english.Compile("Does anyone fall?")).PerSecond)
	require.Zero(t, answer.Needs(english.Compile("Does anyone enter?")).PerSecond)
	require.Equal(t, query.UnsupportedQueryForm, answer.Unsupported(english.Compile("Why is he sad?")))
	require.Equal(t, query.UnsupportedQueryForm, answer.Unsupported(english.Compile("Is a fluffy person sitting?")), "the attribute is the unsupported part, not the action")
}
