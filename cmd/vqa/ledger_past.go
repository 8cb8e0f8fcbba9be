package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"vqa/eventstore/translog"
	"vqa/handlers/intake/egress"
)

// mostCheckpoint bounds a checkpoint or a proof, in bytes.
const mostCheckpoint = 64 << 10

// past is what somebody kept of the log.
type past struct {
	// signed is the checkpoint.
	signed []byte
	// folder is the folder of a bundle, or empty.
	folder string
}

// readPast reads the checkpoint that a flag names: a file with a checkpoint, in base64 as in the header of a
// response or in plain text, a .tlog-proof, the folder of a bundle, or a URL of a checkpoint or a proof.
func (a *app) readPast(ctx context.Context, flag, from string) (past, error) {
	var p past
	var data []byte
	var err error
	info, statErr := os.Stat(from)
	switch {
	case strings.HasPrefix(from, "https://") || strings.HasPrefix(from, "http://"):
		data, err = a.fetchPast(ctx, from)
	case statErr == nil && info.IsDir():
		p.folder = from
		data, err = readSmall(filepath.Join(from, "checkpoint.txt"), mostCheckpoint)
	default:
		data, err = readSmall(from, mostCheckpoint)
	}
	if err == nil {
		p.signed, err = checkpointOf(data)
		if err == nil && !bytes.Contains(p.signed, []byte("\n\n\u2014 ")) {
			err = errNoPast
		}
		if errors.Is(err, errNoPast) {
			return p, fmt.Errorf("%s: %s %w", flag, from, err)
		}
	}
	if err != nil {
		return p, fmt.Errorf("%s: %w", flag, err)
	}
	return p, nil
}

// checkpointOf returns the signed checkpoint in the content of a file.
func checkpointOf(data []byte) ([]byte, error) {
	if !bytes.Contains(data, []byte("\n\n")) { // the header VQA-Ledger-Checkpoint
		decoded, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(data)))
		if err != nil {
			return nil, errNoPast
		}
		return decoded, nil
	}
	if !bytes.HasPrefix(data, []byte("c2sp.org/tlog-proof@")) {
		return data, nil
	}
	proof, err := translog.ParseProof(data)
	return proof.Checkpoint, err
}

// errNoPast follows the name of a file that is not a signed note.
var errNoPast = errors.New("is not a checkpoint, a .tlog-proof or the folder of a bundle")

var errLargePast = errors.New("it is too large for a checkpoint or a proof")

func readAtMost(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, mostCheckpoint+1))
	if err == nil && len(data) > mostCheckpoint {
		err = errLargePast
	}
	return data, err
}

// fetchPast fetches a checkpoint or a proof: over https from the host that the operator named, or over http from this
// machine.
func (a *app) fetchPast(ctx context.Context, from string) ([]byte, error) {
	u, err := url.Parse(from)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" {
		return fetchLoopback(ctx, u)
	}
	client, err := a.config.operatorClient(from)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, loopbackTimeout)
	defer cancel()
	var out bytes.Buffer
	_, err = client.Fetch(ctx, from, &out, mostCheckpoint, nil)
	var refused *egress.StatusError
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
		err = needsKey(from)
	}
	return out.Bytes(), err
}

// needsKey says how to save a proof. This program sends no key to a URL that it is given.
func needsKey(from string) error {
	return fmt.Errorf("status 401: %s needs an API key. Save it, and name the file instead of the URL: curl -fsS -H \"Authorization: Bearer $VQA_API_KEY\" -o charge.tlog-proof '%s'",
		from, strings.ReplaceAll(from, "'", "%27"))
}

// loopbackTimeout bounds the fetch of a checkpoint.
const loopbackTimeout = 30 * time.Second

// fetchLoopback fetches from this machine. It checks the address of the socket and follows no redirect.
func fetchLoopback(ctx context.Context, u *url.URL) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, loopbackTimeout)
	defer cancel()
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().Unmap().IsLoopback() {
			return errors.New("http is allowed only to this machine; use https")
		}
		return nil
	}}
	client := http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: mostCheckpoint},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode == http.StatusUnauthorized {
		return nil, needsKey(u.String())
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server responded with status %d", resp.StatusCode)
	}
	return readAtMost(resp.Body)
}
