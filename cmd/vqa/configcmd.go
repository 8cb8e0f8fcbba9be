package main

import (
	"cmp"
	"fmt"
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
	// Running has the other values of running servers, by their URLs.
	Running map[string]string `json:"running,omitempty"`
}

func configCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "config",
		Short: "Show every setting with its value and the source of the value",
		Long: "Shows every setting with its value, and the values of your running servers that are different. A secret counts as\n" +
			"different only when one of the two has none.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig()
			if err != nil {
				return err
			}
			servers := runningServers()
			return show(cmd, compared(settings(c, os.LookupEnv), servers), func(s terminal.Screen, all []setting) { printSettings(s, all, servers) })
		},
	})
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

// compared adds the values of the servers that differ.
func compared(all []setting, servers []running) []setting {
	for i, s := range all {
		for _, r := range servers {
			if there, known := r.Settings[s.Env]; known && there != s.Value {
				if all[i].Running == nil {
					all[i].Running = map[string]string{}
				}
				all[i].Running[r.URL] = there
			}
		}
	}
	return all
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

func printSettings(s terminal.Screen, all []setting, servers []running) {
	terminal.List(func(x setting) []string {
		return []string{x.Env, cmp.Or(x.Value, "(empty)"), x.Default, x.Source}
	}, "VARIABLE", "VALUE", "DEFAULT", "FROM")(s, all)
	for _, r := range servers {
		t := terminal.Table{{"VARIABLE", "RUNNING WITH"}}
		for _, x := range all {
			if there, differs := x.Running[r.URL]; differs {
				t = append(t, []string{x.Env, cmp.Or(there, "(empty)")})
			}
		}
		if len(t) == 1 {
			fmt.Fprintf(s, "\n  the server at %s runs with these values\n", r.URL)
			continue
		}
		fmt.Fprintf(s, "\n  the server at %s (data in %s) has other values:\n\n", r.URL, r.dataDir)
		t.Print(s)
	}
}
