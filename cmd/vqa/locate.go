package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// stateDir returns the folder with a link to each data folder in which a server of this user ran. It
// returns an error under sudo, where HOME belongs to another user.
func stateDir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "vqa"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if !isOwn(home) {
		return "", fmt.Errorf("%s belongs to another user", home)
	}
	return filepath.Join(home, ".local", "state", "vqa"), nil
}

// isOwn reports whether a folder belongs to this user. Another user could make a folder again that was removed
// from a shared place such as /tmp, and get the videos that the tools then send there.
func isOwn(folder string) bool {
	var info unix.Stat_t
	return unix.Stat(folder, &info) == nil && int(info.Uid) == os.Geteuid()
}

// rememberDataDir adds the link to a data folder, so that the tools find its server from any folder. It
// removes the links to folders that are gone.
func rememberDataDir(dataDir string) error {
	state, err := stateDir()
	if err != nil {
		return err
	}
	for link, dir := range linksIn(state) {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(link) // a link that stays leads nowhere
		}
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	link := filepath.Join(state, fmt.Sprintf("data-%x", sha256.Sum256([]byte(dataDir)))[:len("data-")+16])
	if err := os.Symlink(dataDir, link); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// linksIn returns the data folders by their links.
func linksIn(state string) map[string]string {
	dirs := map[string]string{}
	links, _ := filepath.Glob(filepath.Join(state, "data-*")) // the pattern is valid
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil {
			dirs[link] = dir
		}
	}
	return dirs
}

// knownDataDirs returns the data folders in which servers of this user ran, sorted.
func knownDataDirs() (dirs []string) {
	state, err := stateDir()
	if err != nil {
		return nil
	}
	for _, dir := range linksIn(state) {
		if isOwn(dir) && hasData(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// hasData reports whether a data folder belongs to an installation.
func hasData(dataDir string) bool {
	_, err := os.Stat(filepath.Join(dataDir, secretKeyFile))
	return err == nil
}

// runningServers returns the servers of this user that run on this machine.
func runningServers() (servers []running) {
	for _, dir := range knownDataDirs() {
		if r, ok := serverOf(dir); ok {
			servers = append(servers, r)
		}
	}
	return servers
}

// locatedConfig loads the configuration of a command that works with an installation. Without
// VQA_DATA_DIR and without data in the default folder, the command uses the data folder of the server at
// the base URL at, or else of the only running server of this user.
func locatedConfig(at string, notices io.Writer) (config, error) {
	c, err := loadConfig()
	if err != nil || os.Getenv("VQA_DATA_DIR") != "" || hasData(c.DataDir) {
		return c, err
	}
	servers := runningServers()
	if at != "" {
		servers = slices.DeleteFunc(servers, func(r running) bool { return r.URL != strings.TrimRight(at, "/") })
	}
	switch len(servers) {
	case 0:
		return c, nil
	case 1:
		c.DataDir = servers[0].dataDir
		fmt.Fprintf(notices, "using the service at %s (data in %s)\n", servers[0].URL, c.DataDir)
		return c, nil
	}
	return c, severalServers(servers)
}

func severalServers(servers []running) error {
	var list strings.Builder
	for _, r := range servers {
		fmt.Fprintf(&list, "\n  VQA_DATA_DIR=%s  for %s", r.dataDir, r.URL)
	}
	return fmt.Errorf("%d services of yours are running. Choose one:%s", len(servers), list.String())
}

// checkData is called before a command opens the database of its data folder. It says when that creates
// an installation, and how to use another one. It returns an error when the running server of the folder
// has a Postgres of its own and this command does not know it: the embedded one has other data.
func (c config) checkData(notices io.Writer) error {
	if c.DatabaseURL != "" {
		return nil
	}
	if r, ok := serverOf(c.DataDir); ok && r.Settings["VQA_DATABASE_URL"] != "" {
		return fmt.Errorf("the service at %s uses the database %s: set VQA_DATABASE_URL to it", r.URL, r.Settings["VQA_DATABASE_URL"])
	}
	if hasData(c.DataDir) {
		return nil
	}
	fmt.Fprintf(notices, "no service of yours is running: creating a data folder in %s\n", c.DataDir)
	for _, dir := range knownDataDirs() {
		fmt.Fprintf(notices, "to use your data in another folder: VQA_DATA_DIR=%s\n", dir)
	}
	return nil
}

// dataDirOf returns the data folder of the running server of this user at a base URL, or "".
func dataDirOf(base string) string {
	for _, r := range runningServers() {
		if r.URL == base {
			return r.dataDir
		}
	}
	return ""
}
