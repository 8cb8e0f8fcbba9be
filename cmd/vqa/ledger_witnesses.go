package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vqa/cmd/vqa/internal/doctor"
	"vqa/cmd/vqa/internal/terminal"
	"vqa/eventstore/postgres"
	"vqa/eventstore/translog"
	"vqa/handlers/seal"
	"vqa/handlers/witness"
)

// mostWitnesses bounds the configured witnesses. A header of GET /v1/credits has all their cosignatures.
const mostWitnesses = 8

// checkWitnesses checks the settings of the witnesses.
func (c config) checkWitnesses() error {
	if n := len(c.LedgerWitnesses); n > mostWitnesses {
		return fmt.Errorf("configuration: VQA_LEDGER_WITNESSES names %d witnesses, but at most %d are asked", n, mostWitnesses)
	}
	if c.LedgerWitnessQuorum < 0 || c.LedgerWitnessQuorum > len(c.LedgerWitnesses) {
		return wrongValue("VQA_LEDGER_WITNESS_QUORUM", c.LedgerWitnessQuorum, "must be from 0 to the number of VQA_LEDGER_WITNESSES")
	}
	names := map[string]bool{}
	for _, text := range c.LedgerWitnesses {
		s, err := witness.ParseSetting(text)
		switch {
		case err != nil:
			return wrongValue("VQA_LEDGER_WITNESSES", redactedWitness(text), "must be name+hash+key@URL of a witness: "+err.Error())
		case names[s.Key.Name]:
			return wrongValue("VQA_LEDGER_WITNESSES", text, "must name each witness once")
		}
		names[s.Key.Name] = true
	}
	return nil
}

// redactedWitness returns the setting of a witness without the password of its URL.
func redactedWitness(text string) string {
	key, address, found := strings.Cut(text, "@")
	if !found {
		return text
	}
	shown, _ := hasScheme(address)
	return key + "@" + shown
}

// witnesses returns the clients of the configured witnesses and their keys. Each reaches its own host.
func (c config) witnesses() (clients []seal.Witness, keys []translog.Witness, err error) {
	if len(c.LedgerWitnesses) == 0 {
		return nil, nil, nil
	}
	for _, text := range c.LedgerWitnesses {
		s, err := witness.ParseSetting(text)
		if err != nil {
			return nil, nil, err
		}
		// Without TLS nothing is lost: a checkpoint is public, and the key of the witness proves its answer.
		var out http.RoundTripper = &http.Transport{DisableKeepAlives: true}
		if s.URL.Scheme == "https" {
			if out, err = c.operatorClient(s.URL.String()); err != nil {
				return nil, nil, err
			}
		}
		clients, keys = append(clients, witness.New(s, out)), append(keys, s.Key)
	}
	return clients, keys, nil
}

// askWitnesses asks each configured witness about the newest checkpoint. It needs no database.
func (c config) askWitnesses(ctx context.Context) (h seal.Head, states []seal.WitnessState, err error) {
	log := slog.New(slog.DiscardHandler)
	a := &app{config: c, clock: postgres.NewClock(time.Now, log)}
	clients, _, err := c.witnesses()
	if err != nil {
		return h, nil, err
	}
	tiles, anchors, end, err := a.ledgerPlaces(ctx)
	if err != nil {
		return h, nil, err
	}
	s := seal.New(seal.Options{Anchors: anchors, Tiles: tiles, Witnesses: clients, Now: a.clock.Now, Log: log})
	h, states, err = s.AskWitnesses(ctx)
	err = errors.Join(err, end())
	return h, states, err
}

// inspectWitnesses returns a finding for each witness.
func (c config) inspectWitnesses(ctx context.Context) ([]doctor.Finding, error) {
	if len(c.LedgerWitnesses) == 0 {
		return nil, nil
	}
	h, states, err := c.askWitnesses(ctx)
	if err != nil {
		return nil, err
	}
	if h.Signed == nil {
		return []doctor.Finding{{Verdict: doctor.OK, Detail: "no checkpoint is signed yet, so no witness was asked"}}, nil
	}
	var found []doctor.Finding
	for _, s := range states {
		f := doctor.Finding{Verdict: doctor.OK, Detail: s.Name + " cosigns"}
		if s.Err != nil {
			f = doctor.Finding{Verdict: doctor.Warning, Detail: s.Err.Error(), Fix: "give the witness the origin and the key that vqa ledger witnesses prints, and make it reachable"}
		}
		if errors.As(s.Err, new(*seal.Finding)) {
			f.Verdict, f.Fix = doctor.Broken, "find out who changed the database or the checkpoints; sealing stops"
		}
		found = append(found, f)
	}
	return found, nil
}

// shownWitness is a witness as it is printed.
type shownWitness struct {
	Name     string     `json:"name"`
	URL      string     `json:"url"`
	Cosigned *time.Time `json:"cosigned_at"`
	Problem  string     `json:"problem,omitempty"`
}

func ledgerWitnessesCommand() *cobra.Command {
	return printing(&cobra.Command{
		Use:   "witnesses",
		Short: "Ask each witness of VQA_LEDGER_WITNESSES about the newest checkpoint",
		Long: "Asks each witness to cosign the newest checkpoint, and prints what it says. The origin and the verifier key of the log\n" +
			"are printed, too: a witness needs both. It needs no database. The exit status is 1 when fewer witnesses than\n" +
			"VQA_LEDGER_WITNESS_QUORUM cosign, or when one has cosigned another history.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := locatedConfig("", cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			h, states, err := c.askWitnesses(cmd.Context())
			if err != nil {
				return err
			}
			return c.printWitnesses(cmd, h, states)
		},
	})
}

func (c config) printWitnesses(cmd *cobra.Command, h seal.Head, states []seal.WitnessState) error {
	key := ""
	if h.Keys.Current != nil {
		var err error
		if key, err = translog.VerifierKey(h.Opening.Origin, h.Keys.Current); err != nil {
			return err
		}
	}
	shown, failed, cosigned := []shownWitness{}, false, 0
	for i, text := range c.LedgerWitnesses {
		setting, err := witness.ParseSetting(text)
		if err != nil {
			return err
		}
		one := shownWitness{Name: setting.Key.Name, URL: setting.URL.String(), Problem: "no checkpoint is signed yet"}
		if i < len(states) {
			if one.Problem = ""; states[i].Err != nil {
				one.Problem = states[i].Err.Error()
			} else if cosigned++; !states[i].At.IsZero() {
				one.Cosigned = &states[i].At
			}
			failed = failed || errors.As(states[i].Err, new(*seal.Finding))
		}
		shown = append(shown, one)
	}
	failed = failed || h.Signed != nil && cosigned < c.LedgerWitnessQuorum
	err := show(cmd, map[string]any{
		"origin": h.Opening.Origin, "verifier_key": key, "size": h.Checkpoint.Size, "witnesses": shown,
	}, func(s terminal.Screen, _ map[string]any) {
		fmt.Fprintf(s, "origin %s\nverifier key %s\nnewest checkpoint: %d leaves\n", h.Opening.Origin, key, h.Checkpoint.Size)
		terminal.List(func(w shownWitness) []string {
			at := "no"
			if w.Cosigned != nil {
				at = w.Cosigned.Format(time.DateTime)
			}
			return []string{w.Name, w.URL, at, w.Problem}
		}, "WITNESS", "URL", "COSIGNED", "PROBLEM")(s, shown)
	})
	if err != nil {
		return err
	}
	return failing(failed)
}
