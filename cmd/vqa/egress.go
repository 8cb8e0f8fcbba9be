package main

import (
	"cmp"
	"fmt"
	"net"
	"net/url"

	"vqa/handlers/intake/egress"
)

// customerClient returns the client for the addresses that customers name: webhooks, imports and the documents of agents.
// It reaches public hosts, and the targets of VQA_EGRESS_ALLOW.
func (c config) customerClient() (*egress.Client, error) {
	client, err := egress.New(egress.Options{Allow: c.EgressAllow, CAFile: c.EgressCAFile})
	if err != nil {
		return nil, fmt.Errorf("opening the client for fetches: %w", err)
	}
	return client, nil
}

// operatorClient returns a client for addresses that the operator chose, such as those of witnesses. It reaches public
// hosts and the hosts of these addresses, which may be in a private network. Customers cannot reach them by it.
func (c config) operatorClient(addresses ...string) (*egress.Client, error) {
	var allow []string
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("opening a client: %w", err)
		}
		allow = append(allow, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
	}
	client, err := egress.New(egress.Options{Allow: allow, CAFile: c.EgressCAFile})
	if err != nil {
		return nil, fmt.Errorf("opening a client: %w", err)
	}
	return client, nil
}
