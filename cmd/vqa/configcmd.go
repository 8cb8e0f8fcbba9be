package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/terminal"
)

// setting is one value of the configuration, with its source.
type setting struct {
	Name    string `json:"name"`
	Env     string `json:"env"`
	Value   string `json:"value"`
	Default string `json:"default"`
	// Source is environment, default, or derived when the value is computed from other settings.
	Source string `json:"source"`
	Help   string `json:"help"`
}

func configCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show every setting with its value and the source of the value",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			return printSettings(cmd.OutOrStdout(), settings(c, os.LookupEnv), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return strict(cmd)
}

// settings lists the configuration in the order of its declaration, with masked secrets.
func settings(c config, lookup func(string) (string, bool)) []setting {
	v := reflect.ValueOf(c)
	out := make([]setting, 0, v.NumField())
	for i := range v.NumField() {
		f := v.Type().Field(i)
		s := setting{
			Name: f.Name, Env: f.Tag.Get("env"), Default: f.Tag.Get("envDefault"), Help: f.Tag.Get("help"),
			Value: settingText(v.Field(i), plain), Source: "default",
		}
		if given, ok := lookup(s.Env); ok && given != "" {
			s.Source = "environment"
		} else if s.Value != s.Default && f.Type != reflect.TypeFor[time.Duration]() {
			s.Source = "derived"
		}
		secret := f.Tag.Get("secret") == "true"
		s.Value = settingText(v.Field(i), func(value string) string { return terminal.Masked(value, secret) })
		out = append(out, s)
	}
	return out
}

func plain(value string) string { return value }

// settingText formats a value. show masks it, or each element of a list.
func settingText(v reflect.Value, show func(string) string) string {
	if v.Kind() != reflect.Slice {
		return show(fmt.Sprint(v.Interface()))
	}
	parts := make([]string, v.Len())
	for i := range parts {
		parts[i] = show(fmt.Sprint(v.Index(i).Interface()))
	}
	return strings.Join(parts, ",")
}

func printSettings(out io.Writer, all []setting, asJSON bool) error {
	if asJSON {
		return terminal.PrintJSON(out, all)
	}
	t := terminal.Table{{"VARIABLE", "VALUE", "DEFAULT", "FROM"}}
	for _, s := range all {
		value, preset := s.Value, s.Default
		if value == "" {
			value = "(empty)"
		}
		t = append(t, []string{s.Env, value, preset, s.Source})
	}
	t.Print(terminal.NewScreen(out))
	return nil
}
