package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// contractVersion is the version of the API (docs/contract.md#versioning).
const contractVersion = "1.0.0-alpha"

// versionInfo is the output of `vqa version`.
type versionInfo struct {
	Version string `json:"version"`
	// Commit is empty in a build without version control.
	Commit   string `json:"commit,omitempty"`
	API      string `json:"api"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "version",
		Short: "Show the version of the program and of the API",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, currentVersion(), func(s terminal.Screen, v versionInfo) { fmt.Fprintln(s, v) })
		},
	})
}

// String is the output without --json.
func (v versionInfo) String() string {
	return fmt.Sprintf("vqa %s, API %s, %s, %s", v.Version, v.API, v.Go, v.Platform)
}

func currentVersion() versionInfo {
	v := versionInfo{Version: "(devel)", API: contractVersion, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
