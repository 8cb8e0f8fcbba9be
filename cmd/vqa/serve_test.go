package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGreetingNamesTheNode: several nodes have one public URL, so each names its own address too.
func TestGreetingNamesTheNode(t *testing.T) {
	t.Parallel()
	alone := config{Addr: "127.0.0.1:8080", PublicURL: "http://127.0.0.1:8080", DataDir: ".vqa"}
	require.Equal(t, "vqa answers on http://127.0.0.1:8080 (data in .vqa); stop with Ctrl-C", greeting(alone))
	behind := config{Addr: "10.0.0.2:8080", PublicURL: "https://vqa.example", DataDir: ".vqa"}
	require.Equal(t, "vqa answers on https://vqa.example through 10.0.0.2:8080 (data in .vqa); stop with Ctrl-C", greeting(behind))
}
