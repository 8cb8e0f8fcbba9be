package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
	"vqa/domain/id"
	"vqa/eventstore/node"
	"vqa/handlers/httpapi/edge"
	"vqa/handlers/objects"
	"vqa/migrations"
)

func nodesCommand() *cobra.Command {
	return group("nodes", "Manage what the nodes of an installation share", nodesListCommand(), nodesAdoptCommand())
}

// listedNodes is the output of vqa nodes list.
type listedNodes struct {
	Generation int64        `json:"generation"`
	Nodes      []livingNode `json:"nodes"`
}

func nodesListCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "list",
		Short: "List the living nodes with their machine and the generation of their release",
		Long: `Lists the nodes whose lease lasts. The generation is the number of the newest migration of a release.
Nodes of two generations run together only during a rolling upgrade.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return showFrom(cmd, func(ctx context.Context, a *app) (listedNodes, error) {
				nodes, err := livingNodes(ctx, a.pool)
				return listedNodes{migrations.Generation(), nodes}, err
			}, func(s terminal.Screen, all listedNodes) {
				terminal.List(func(n livingNode) []string {
					return []string{n.Name, n.Host, fmt.Sprint(n.Generation), n.StartedAt.Format(time.DateTime), n.RenewedAt.Format(time.DateTime)}
				}, "NAME", "HOST", "GENERATION", "STARTED", "RENEWED")(s, all.Nodes)
			})
		},
	})
}

func nodesAdoptCommand() *cobra.Command {
	var key, store bool
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Record this node's secret key or object store as the one of all nodes",
		Long: `Records the secret key (--key) or the object store (--store) of this node in the database, after you
replaced the key or moved the objects. From then on, a node with another one refuses to start.
Stop all nodes first. The table installation_parts keeps each change with its operator.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !key && !store {
				return errors.New("say what this node's part replaces: --key, --store or both")
			}
			return withApp(cmd, func(ctx context.Context, a *app) error { return adopt(ctx, cmd, a, key, store) })
		},
	}
	cmd.Flags().BoolVar(&key, "key", false, "adopt secret.key of the data folder")
	cmd.Flags().BoolVar(&store, "store", false, "adopt the object store (VQA_BLOB_URL, or objects/ in the data folder)")
	return strict(cmd)
}

// adopt records parts of this node and prints the outcome.
func adopt(ctx context.Context, cmd *cobra.Command, a *app, key, store bool) error {
	running, err := node.Count(ctx, a.pool)
	if err != nil {
		return err
	}
	if running > 0 {
		return fmt.Errorf("%d nodes run on this database and would keep the old part: stop all nodes, then run this command again", running)
	}
	parts, err := openInstallation(ctx, a)
	if err != nil {
		return err
	}
	for _, chosen := range []struct {
		wanted bool
		part   node.Part
		name   string
	}{{key, node.SecretKey, "secret key"}, {store, node.ObjectStore, "object store"}} {
		if !chosen.wanted {
			continue
		}
		changed, err := parts.Adopt(ctx, chosen.part)
		if err != nil {
			return errors.Join(err, parts.close())
		}
		outcome := "was recorded already; nothing changed"
		if changed {
			outcome = "is now the one of all nodes"
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "The %s of this node %s.\n", chosen.name, outcome); err != nil {
			return errors.Join(err, parts.close())
		}
	}
	return parts.close()
}

// installation is a comparison of this node's parts with an object store of its own.
type installation struct {
	node.Installation
	close func() error
}

// openInstallation opens the parts of this node for an operator.
func openInstallation(ctx context.Context, a *app) (installation, error) {
	key, err := keyFile(a.config.DataDir, secretKeyFile)
	if err != nil {
		return installation{}, fmt.Errorf("reading the secret key of the installation: %w", err)
	}
	store, err := a.config.openObjects(ctx, key, a.log)
	if err != nil {
		return installation{}, err
	}
	return installation{node.Installation{Pool: a.pool, Key: key, Store: store, By: operator()}, store.Close}, nil
}

// openObjects opens the object store to read and write its id.
func (c config) openObjects(ctx context.Context, key []byte, log *slog.Logger) (*objects.Store, error) {
	store, err := objects.Open(ctx, objects.Options{
		URL: c.BlobURL, Dir: c.objectsDir(), Unproven: true, PublicURL: c.PublicURL, SigningKey: key, Now: machineTime, WriteError: edge.WriteError, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the object store: %w", err)
	}
	return store, nil
}

// objectsDir is the folder of the objects when VQA_BLOB_URL is not set.
func (c config) objectsDir() string { return filepath.Join(c.DataDir, "objects") }

// join makes this process a node, with a new name.
func (s *server) join(ctx context.Context, key []byte) (name string, err error) {
	host, err := hostname()
	if err != nil {
		return "", err
	}
	name = id.NewSource(s.clock.Now, rand.Reader).New("node")
	if s.presence, err = node.Join(ctx, s.pool, name, host, migrations.Generation(), s.log); err != nil {
		return "", err
	}
	if err := s.presence.Announce(ctx, s.nodeURL(), derivedKey(key, "addresses of nodes")); err != nil {
		return "", err
	}
	s.log.Info("this process is a node", "node", name) // other nodes log this name as the worker of its work
	return name, nil
}

func hostname() (string, error) {
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("reading the name of this machine: %w", err)
	}
	return name, nil
}

// confirmInstallation returns an error when another secret key or another object store is recorded than
// those of this node.
func (s *server) confirmInstallation(ctx context.Context, key []byte) error {
	host, err := hostname()
	if err != nil {
		return err
	}
	err = node.Installation{Pool: s.pool, Key: key, Store: s.objects, By: "node on " + host}.Confirm(ctx)
	if err != nil {
		return fmt.Errorf("this node does not serve, because it would damage the work of the other nodes: %w", err)
	}
	return nil
}

// compareInstallation does the same for the doctor. It creates and writes nothing. complete is false
// when the first start will record a part.
func (c config) compareInstallation(ctx context.Context, databaseURL string) (complete bool, err error) {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	key, err := os.ReadFile(filepath.Join(c.DataDir, secretKeyFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("reading the secret key of the installation: %w", err)
	}
	if folder := c.objectsFolder(); folder != "" {
		if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
			return node.Compare(ctx, conn, key, noObjects{})
		}
	}
	signing := key
	if len(signing) == 0 {
		signing = make([]byte, keyBytes) // nothing is signed
	}
	store, err := c.openObjects(ctx, signing, slog.New(slog.DiscardHandler))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return node.Compare(ctx, conn, key, store)
}

// objectsFolder is the folder of the object store, or "" when the store is not a folder.
func (c config) objectsFolder() string {
	if c.BlobURL == "" {
		return c.objectsDir()
	}
	if u, err := url.Parse(c.BlobURL); err == nil && u.Scheme == "file" && u.Host == "" {
		return u.Path
	}
	return ""
}

// noObjects is an object store whose folder does not exist.
type noObjects struct{}

// InstallationID implements node.IdentifiedStore.
func (noObjects) InstallationID(context.Context) (string, error) { return "", nil }

// SetInstallationID implements node.IdentifiedStore.
func (noObjects) SetInstallationID(context.Context, string) error {
	return errors.New("the folder of the object store does not exist")
}
