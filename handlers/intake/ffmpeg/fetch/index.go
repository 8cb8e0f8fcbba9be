package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	publicIndex = "https://pypi.org/simple"
	pageLimit   = 4 << 20 // bytes; the page of the project has 60 kB
	// headerTimeout bounds the wait for the response headers.
	headerTimeout = 30 * time.Second
)

// errNoPip says that this machine has no pip.
var errNoPip = errors.New("pip is not installed")

// pipDownload lets pip put the wheel into a folder.
func pipDownload(ctx context.Context, w wheel, dir string) error {
	python, err := exec.LookPath("python3")
	if err != nil || exec.CommandContext(ctx, python, "-m", "pip", "--version").Run() != nil {
		return errNoPip
	}
	pins := filepath.Join(dir, "pins.txt")
	if err := os.WriteFile(pins, fmt.Appendf(nil, "%s==%s --hash=sha256:%s\n", project, wheelVersion, w.sha256), 0o600); err != nil {
		return err
	}
	// The wheel has a program and no Python code, so any Python version will do.
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check",
		"--no-deps", "--only-binary", ":all:", "--platform", w.platform, "--python-version", "3.13", "--implementation", "py",
		"--require-hashes", "--requirement", pins, "--dest", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// indexDownload reads the wheel from a simple index (PEP 503) into a file.
func indexDownload(ctx context.Context, index string, w wheel, to string) error {
	page, err := url.Parse(strings.TrimSuffix(index, "/") + "/" + project + "/")
	if err != nil {
		return fmt.Errorf("the index: %w", err)
	}
	body, from, err := get(ctx, page)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(body, pageLimit))
	_ = body.Close() // the body was read completely
	if err != nil {
		return fmt.Errorf("read %s: %w", page.Redacted(), err)
	}
	link := regexp.MustCompile(`href="([^"]*/?` + regexp.QuoteMeta(w.filename()) + `(?:#[^"]*)?)"`).FindSubmatch(text)
	if link == nil {
		return fmt.Errorf("%s does not list %s", page.Redacted(), w.filename())
	}
	file, err := from.Parse(html.UnescapeString(string(link[1])))
	if err != nil {
		return fmt.Errorf("the link to %s: %w", w.filename(), err)
	}
	return save(ctx, file, to)
}

func save(ctx context.Context, file *url.URL, to string) error {
	body, _, err := get(ctx, file)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // read only
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(body, wheelLimit+1))
	if err == nil && n > wheelLimit {
		err = fmt.Errorf("it is larger than %d bytes", wheelLimit)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("download %s: %w", file.Redacted(), err), out.Close())
	}
	return out.Close()
}

// get opens a page. It returns the final address after redirects, to which links are relative.
func get(ctx context.Context, from *url.URL) (io.ReadCloser, *url.URL, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the library says so
	transport.ResponseHeaderTimeout = headerTimeout
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil) //nolint:gosec // the operator names the index
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Accept", "text/html, */*;q=0.1")
	resp, err := (&http.Client{Transport: transport}).Do(req) //nolint:gosec // the operator names the index
	if err != nil {
		return nil, nil, fmt.Errorf("cannot reach the index: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close() // the body is not used
		return nil, nil, fmt.Errorf("%s responds with %s", from.Redacted(), resp.Status)
	}
	return resp.Body, resp.Request.URL, nil
}
