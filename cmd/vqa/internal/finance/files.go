package finance

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"vqa/projections/ledger/export"
)

// WriteZip writes a zip archive, in the way of WriteFile.
func WriteZip(path string, write func(export.Target) error) error {
	return WriteFile(path, func(out io.Writer) error {
		archive := zip.NewWriter(out)
		return errors.Join(write(archive), archive.Close())
	})
}

// folder writes files to a directory, one after the other.
type folder struct {
	dir  string
	last *os.File
}

// Create implements export.Target.
func (f *folder) Create(name string) (io.Writer, error) {
	if err := f.close(); err != nil {
		return nil, err
	}
	var err error
	f.last, err = os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return f.last, err
}

func (f *folder) close() error {
	if f.last == nil {
		return nil
	}
	return f.last.Close()
}

// WriteFolder writes a new folder. After an error, it does not exist. It refuses a folder that is not
// empty.
func WriteFolder(path string, write func(export.Target) error) (err error) {
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty: give the name of a new folder", path)
	}
	path = filepath.Clean(path)
	dir, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	into := &folder{dir: dir}
	if err := errors.Join(write(into), into.close()); err != nil {
		return err
	}
	return os.Rename(dir, path)
}

// WriteFile writes a file atomically: after an error, the old file or no file exists. Only its owner
// can read it, because the ledger is confidential.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	if err := errors.Join(write(temp), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
