package anchor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unfinished is the suffix of files that are not complete. They are never listed.
const unfinished = ".tmp"

// Modes of created files, of others, and of folders.
const (
	createdMode = 0o444
	folderMode  = 0o700
)

// folder keeps files in a directory.
type folder struct{ dir string }

func (f folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(key(name))) }

// create links a complete file to its name. The link fails when the name exists.
func (f folder) create(_ context.Context, name string, data []byte) error {
	temp, err := f.write(name, data, (*os.File).Sync)
	if err != nil {
		return err
	}
	defer os.Remove(temp) //nolint:errcheck // the linked file has another name
	if err := os.Chmod(temp, createdMode); err != nil {
		return err
	}
	if err := os.Link(temp, f.path(name)); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return ErrExists
		}
		return err
	}
	return syncFolder(filepath.Dir(f.path(name)))
}

// put renames a complete file to its name.
func (f folder) put(_ context.Context, name string, data []byte) error {
	temp, err := f.write(name, data, func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	if err := os.Rename(temp, f.path(name)); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// sync makes the whole file system durable. One by one, the tiles of a pass would each wait for its journal, and so would
// the commits of a database on the same disk.
func (f folder) sync(context.Context) error {
	d, err := os.Open(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was put
	}
	if err != nil {
		return err
	}
	return errors.Join(syncAll(d), d.Close())
}

// write makes a complete file, under a temporary name beside the final one. sync makes it durable or not.
func (f folder) write(name string, data []byte, sync func(*os.File) error) (temp string, err error) {
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+unfinished)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, sync(file), file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), nil
}

// syncFolder makes a new name durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f folder) read(_ context.Context, name string) ([]byte, error) {
	file, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, err
	}
	data, err := readAll(file)
	return data, errors.Join(err, file.Close())
}

func (f folder) list(_ context.Context, name, after string) ([]string, error) {
	d, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n <= after || strings.HasSuffix(n, unfinished) })
	slices.Sort(names)
	return names, nil
}

func (f folder) remove(_ context.Context, name string) error {
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (folder) close() error { return nil }
