package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPasswordsAreNotArguments: client programs of Postgres get the URL of the database as an argument.
func TestPasswordsAreNotArguments(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		"postgres://vqa:p%40ss@db/vqa?sslmode=require":                      {"postgres://vqa@db/vqa?sslmode=require", "p@ss"},
		"postgres://vqa@db/vqa?password=p%40ss&options=-c%20a%3Db":          {"postgres://vqa@db/vqa?options=-c%20a%3Db", "p@ss"},
		"postgres://vqa:old@db/vqa?password=new":                            {"postgres://vqa@db/vqa", "new"},
		"postgres://vqa@/vqa?host=%2Frun%2Fpg&application_name=a%2Bb%20%26": {"postgres://vqa@/vqa?host=%2Frun%2Fpg&application_name=a%2Bb%20%26", ""},
	} {
		database, password, err := withoutPassword(raw)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{database, password}, raw)
	}
	_, _, err := withoutPassword("postgres://vqa:hunter2@db:port/vqa")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}
