package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"vqa/projections/ledger/export"
)

// writeZip writes a zip archive, in the way of writeFile.
func writeZip(path string, write func(export.Target) error) error {
	return writeFile(path, func(out io.Writer) error {
		archive := zip.NewWriter(out)
		return errors.Join(write(archive), archive.Close())
	})
}

// newFolder writes files to a directory, one after the other.
type newFolder struct {
	dir  string
	last *os.File
}

// Create implements export.Target.
func (f *newFolder) Create(name string) (io.Writer, error) {
	if err := f.close(); err != nil {
		return nil, err
	}
	var err error
	f.last, err = os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return f.last, err
}

func (f *newFolder) close() error {
	if f.last == nil {
		return nil
	}
	return f.last.Close()
}

// writeFolder writes a new folder. After an error, it does not exist. It refuses a folder that is not
// empty.
func writeFolder(path string, write func(export.Target) error) (err error) {
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
	into := &newFolder{dir: dir}
	if err := errors.Join(write(into), into.close()); err != nil {
		return err
	}
	return os.Rename(dir, path)
}

// writeFile writes a file atomically: after an error, the old file or no file exists. Only its owner
// can read it, because all of these files are confidential.
func writeFile(path string, write func(io.Writer) error) (err error) {
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

// readSmall reads a file that is not larger than most bytes.
func readSmall(path string, most int64) (text []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err = io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return text, err
}
