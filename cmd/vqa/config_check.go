package main

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/shopspring/decimal"

	"vqa/cmd/vqa/internal/terminal"
)

// otherVariables are read but are not settings: the key of `vqa ask`, and the variables of the
// clients' tests.
var otherVariables = []string{"VQA_API_KEY", "VQA_BASE_URL", "VQA_CLIP"}

// testVariables is the prefix of the variables that only tests read.
const testVariables = "VQA_TEST_"

// unknownVariables returns a warning for each VQA_ variable of an environment (NAME=value) that is
// not a setting, with the setting whose name is most similar.
func unknownVariables(environment []string) []string {
	known := slices.Clone(otherVariables)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		known = append(known, f.Tag.Get("env"))
	}
	var found []string
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "VQA_") || strings.HasPrefix(name, testVariables) || slices.Contains(known, name) {
			continue
		}
		nearest := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
		hint := "vqa config lists all settings"
		if distance(name, nearest) <= len(name)/3 {
			hint = "did you mean " + nearest + "?"
		}
		found = append(found, fmt.Sprintf("the variable %s is not a setting: %s", terminal.Printable(name), hint))
	}
	slices.Sort(found)
	return found
}

// distance is the number of letters to add, remove or replace in order to turn a into b
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// valueError turns the errors of the parser into errors that name the variable, its value and the
// allowed values. lookup reads the environment.
func valueError(err error, lookup func(string) string) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	told := make([]error, 0, len(all.Errors))
	for _, one := range all.Errors {
		var parse env.ParseError
		field, ok := reflect.StructField{}, false
		if errors.As(one, &parse) {
			field, ok = reflect.TypeFor[config]().FieldByName(parse.Name)
		}
		if !ok {
			told = append(told, one)
			continue
		}
		name := field.Tag.Get("env")
		told = append(told, wrongValue(name, lookup(name), "must be "+allowed(field.Type)))
	}
	return errors.Join(told...)
}

// wrongValue names a variable, its value and the rule that it breaks.
func wrongValue(name string, value any, rule string) error {
	return fmt.Errorf("configuration: %s is %q, but it %s", name, fmt.Sprint(value), rule)
}

// checkURLs refuses inference servers and object stores with an unsupported scheme, and malformed origins. Its errors
// hide the password of a URL.
func (c config) checkURLs() error {
	for _, server := range c.InferenceURL {
		if shown, ok := hasScheme(server, "http", "https", "grpc", "grpcs"); !ok {
			return wrongValue("VQA_INFERENCE_URL", shown, "must name servers with http://, https://, grpc:// or grpcs://")
		}
	}
	if shown, ok := hasScheme(c.BlobURL, "file", "s3"); c.BlobURL != "" && !ok {
		return wrongValue("VQA_BLOB_URL", shown, "must be a file:// or s3:// URL")
	}
	if shown, ok := hasScheme(c.NodeURL, "http", "https"); c.NodeURL != "" && !ok {
		return wrongValue("VQA_NODE_URL", shown, "must be an http:// or https:// URL")
	}
	for _, origin := range c.AgentOrigins {
		u, err := url.Parse(origin)
		defaultPort := map[string]string{"http": "80", "https": "443"}
		if err != nil || u.Host == "" || defaultPort[u.Scheme] == "" || u.Port() == defaultPort[u.Scheme] || origin != strings.ToLower(u.Scheme+"://"+u.Host) {
			return wrongValue("VQA_AGENT_ORIGINS", origin, "must have origins as browsers send them, such as https://chat.example: in lower case, without path and default port")
		}
	}
	return nil
}

// hasScheme reports whether text is a URL with one of the schemes. shown is the URL without its
// password.
func hasScheme(text string, schemes ...string) (shown string, ok bool) {
	u, err := url.Parse(text)
	if err != nil {
		return "…", false
	}
	return u.Redacted(), slices.Contains(schemes, u.Scheme)
}

// allowed describes the values that a type of setting accepts.
func allowed(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration with a unit, such as 30s, 5m or 4h"
	case t == reflect.TypeFor[terminal.ByteCount]():
		return "a whole number of bytes, or a size such as 500MiB or 100GiB"
	case t == reflect.TypeFor[decimal.Decimal]():
		return "a decimal number, such as 0.5"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Int64:
		return "whole numbers with commas between them, such as 1000,2500"
	case t.Kind() == reflect.Bool:
		return "true or false"
	default:
		return "a whole number, such as 3"
	}
}
