package main_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"vqa/eventstore/storetest"
)

// TestBackupDrill backs up a service while it works, and restores it elsewhere: into a new data folder, and
// into a database whose owner is not a superuser.
func TestBackupDrill(t *testing.T) {
	t.Parallel()
	s := ownService(t)
	c := s.account(t, 1000)
	videoID := c.readyVideo(t, clip(t, signsClip))
	asked := c.ask(t, videoID, "Is there a stop sign?", "Prefer", "wait=100")
	require.Equal(t, "completed", asked.text("status"), "%s", asked.raw)
	checkArtifacts(t, asked)
	s.tool(t, "ledger", "checkpoint")

	folder := filepath.Join(t.TempDir(), "backup")
	working, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for working.Err() == nil {
			_, err := c.try(t, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4"})
			assert.NoError(t, err)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	said := string(s.tool(t, "backup", folder))
	stop()
	<-ended
	require.Contains(t, said, "vqa restore "+folder)
	refused := exec.CommandContext(t.Context(), s.binary, "restore", folder)
	refused.Env = s.env
	out, err := refused.CombinedOutput()
	require.Error(t, err, "%s", out)
	require.Contains(t, string(out), "has an installation")

	// The restored services lack what comes after the backup, also its checkpoint.
	late := c.ask(t, videoID, "Is there a dog?", "Prefer", "wait=100")
	require.Equal(t, "completed", late.text("status"), "%s", late.raw)
	s.tool(t, "ledger", "checkpoint")
	privileges, elsewhere := defaultPrivileges(t, s.owner(t)), t.TempDir()

	for _, to := range []struct {
		name     string
		settings []string
		// newer checkpoints than the database are restored.
		newer bool
	}{{"embedded", nil, false}, {
		"own Postgres",
		[]string{"VQA_DATABASE_URL=" + emptyDatabase(t), "VQA_DATA_DIR=" + filepath.Join(elsewhere, "data"), "VQA_BLOB_URL=file://" + filepath.Join(elsewhere, "objects")},
		true,
	}} {
		t.Run(to.name, func(t *testing.T) {
			if to.newer {
				runProgram(t, s.dir, nil, "cp", "-r", "objects/ledger", filepath.Join(folder, "objects"))
			}
			r := ownServiceLater(t, to.settings...)
			require.Contains(t, string(r.tool(t, "restore", folder)), "restored the backup of ")
			require.NoError(t, r.start())
			require.Contains(t, string(r.tool(t, "ledger", "verify", "--all-streams")), "restored the backup of ")
			r.tool(t, "projections", "verify", "--all")
			conn := r.databaseOwner(t)
			require.Equal(t, privileges, defaultPrivileges(t, conn))

			restored := &apiClient{r, c.key}
			old := restored.call(t, http.MethodGet, "/v1/analyses/"+asked.text("id"), nil)
			require.Equal(t, asked.at("result.answer"), old.at("result.answer"), "%s", old.raw)
			checkArtifacts(t, old)
			require.Equal(t, http.StatusNotFound, restored.call(t, http.MethodGet, "/v1/analyses/"+late.text("id"), nil).status)
			again := restored.ask(t, restored.readyVideo(t, clip(t, signsClip)), "Is there a stop sign?", "Prefer", "wait=100")
			require.Equal(t, "completed", again.text("status"), "%s", again.raw)
			r.tool(t, "ledger", "checkpoint")
			r.tool(t, "ledger", "verify", "--all-streams")
		})
	}
	s.tool(t, "ledger", "verify", "--all-streams")
}

// TestBackupRefusals has the reasons for which nothing is written.
func TestBackupRefusals(t *testing.T) {
	t.Parallel()
	s := ownServiceLater(t)
	run := func(settings []string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), s.binary, args...)
		cmd.Env = append(s.env, settings...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "%s", out)
		return string(out)
	}
	folder := t.TempDir()
	require.Contains(t, run(nil, "backup", filepath.Join(folder, "new")), "no installation in VQA_DATA_DIR")
	require.Contains(t, run(nil, "restore", folder), "not a complete backup")
	for manifest, want := range map[string]string{
		`{}`: "unset VQA_BLOB_URL", `{"objects_at":"s3://kept"}`: "it was s3://kept", `{"anchors_at":"s3://anchors"}`: "it was s3://anchors",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "backup.json"), []byte(manifest), 0o600))
		var settings []string
		if manifest == `{}` {
			settings = []string{"VQA_BLOB_URL=s3://bucket"}
		}
		require.Contains(t, run(settings, "restore", folder), want)
	}
	require.NoDirExists(t, filepath.Join(s.dir, "postgres"))
	used := []string{"VQA_DATABASE_URL=" + emptyDatabase(t)}
	migrate := exec.CommandContext(t.Context(), s.binary, "migrate")
	migrate.Env = append(append(s.env, used...), "VQA_DATA_DIR="+t.TempDir())
	out, err := migrate.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "backup.json"), []byte(`{"postgres":14}`), 0o600))
	require.Contains(t, run(used, "restore", folder), "restore into a new one")
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "secret.key"), make([]byte, 32), 0o600))
	require.Contains(t, run(nil, "restore", folder), "has an installation")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "secret.key")))
}

// emptyDatabase returns the URL of a new database without tables. Its owner may create roles, but is not a
// superuser.
func emptyDatabase(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(storetest.Database(t, func(context.Context, string) error { return nil }, "empty"))
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), u.String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	database := strings.TrimPrefix(u.Path, "/")
	owner := "owner_" + database
	for _, sql := range []string{
		"create role " + pgx.Identifier{owner}.Sanitize() + " login createrole password 'drill'",
		"alter database " + pgx.Identifier{database}.Sanitize() + " owner to " + pgx.Identifier{owner}.Sanitize(),
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	u.User = url.UserPassword(owner, "drill")
	return u.String()
}

// databaseOwner connects to the database of the service as its owner.
func (s *service) databaseOwner(t *testing.T) *pgx.Conn {
	t.Helper()
	for _, v := range s.env {
		if databaseURL, ok := strings.CutPrefix(v, "VQA_DATABASE_URL="); ok {
			conn, err := pgx.Connect(t.Context(), databaseURL)
			require.NoError(t, err)
			return conn
		}
	}
	return s.owner(t)
}

// defaultPrivileges returns the rights that later tables and sequences get, and closes the connection.
func defaultPrivileges(t *testing.T, conn *pgx.Conn) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	defer func() { require.NoError(t, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, `
		select format('%s %s %s', d.defaclobjtype, a.grantee::regrole, a.privilege_type)
		from pg_default_acl d, aclexplode(d.defaclacl) a
		where a.grantee::regrole::text like 'vqa\_%' order by 1`)
	require.NoError(t, err)
	all, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}
