package projections_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math/rand/v2"

	"vqa/domain/account"
	"vqa/domain/analysis"
	"vqa/domain/answer"
	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/query/english"
	"vqa/domain/webhook"
	"vqa/eventstore"
	"vqa/handlers/command"
)

// client issues random commands of every kind for its own accounts. It is used by one
// goroutine.
type client struct {
	*world
	rand     *rand.Rand
	name     string
	callers  []command.Caller
	keys     []command.IssuedKey
	videos   []owned
	fetches  []command.Fetch
	analyses []command.Run
	streams  []command.StreamRun
	// endpoints are the webhook endpoints that the client created, by account.
	endpoints map[string][]string
	// incidents are the incidents that the client opened.
	incidents []string
	steps     int
}

// owned is a video with its owner.
type owned struct {
	command.Caller
	id string
}

func (w *world) client(name string, seed uint64) *client {
	return &client{world: w, name: name, rand: rand.New(rand.NewPCG(seed, 1)), endpoints: map[string][]string{}}
}

// step runs one random command. It returns errors other than refusals.
func (c *client) step(ctx context.Context) error {
	c.steps++
	if len(c.callers) == 0 {
		return refusal(c.openAccount(ctx))
	}
	steps := []func(context.Context) error{
		c.openAccount, c.sandbox, c.revoke, c.grant, c.upload, c.upload, c.fetch, c.endFetch,
		c.remove, c.ask, c.ask, c.ask, c.ask, c.claim, c.claim, c.progress, c.progress, c.complete, c.complete, c.fail, c.cancel, c.seal,
		c.batch, c.outage, c.rerun, c.mint, c.signIn, c.visit, c.claimKey, c.manageKeys, c.upgrade, c.afterwork, c.hook,
		c.authorize, c.watch, c.runStream, c.runStream, c.runStream,
	}
	return refusal(pick(c.rand, steps)(ctx))
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (c *client) openAccount(ctx context.Context) error {
	if len(c.callers) >= 3 {
		key, err := c.IssueKey(ctx, command.NewKey{AccountID: pick(c.rand, c.callers).AccountID, Mode: account.Live, Name: "more", Operator: "test"})
		c.keys = append(c.keys, key)
		return err
	}
	tier := pick(c.rand, []account.Tier{account.Paid, account.FreeGrant})
	key, err := c.IssueKey(ctx, command.NewKey{Mode: account.Live, Tier: tier, GrantSeconds: 40 + c.rand.Int64N(200), Operator: "test"})
	if err == nil {
		c.callers = append(c.callers, command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Livemode: true, Tier: tier})
		c.keys = append(c.keys, key)
	}
	return err
}

func (c *client) sandbox(ctx context.Context) error {
	key, err := c.IssueSandbox(ctx, command.Caller{RequestID: "req"}, fmt.Sprintf("address %s %d", c.name, c.rand.IntN(3)))
	if err != nil {
		return err
	}
	caller := command.Caller{AccountID: key.AccountID, KeyID: key.KeyID, Tier: account.Sandbox}
	c.videos = append(c.videos, owned{caller, key.FixtureVideoID})
	return nil
}

func (c *client) revoke(ctx context.Context) error {
	key := pick(c.rand, c.keys)
	return c.RevokeKey(ctx, key.AccountID, key.KeyID, "test", "")
}

// mint mints a client token for a video of the client. If the video belongs to another
// account, the command is refused.
func (c *client) mint(ctx context.Context) error {
	order := command.MintClientToken{Scopes: []string{"analyses:read"}, Life: account.MinClientTokenLife}
	if len(c.videos) > 0 && c.rand.IntN(2) == 0 {
		order.VideoID = pick(c.rand, c.videos).id
	}
	_, err := c.MintClientToken(ctx, pick(c.rand, c.callers), order)
	return err
}

// manageKeys mints a key, rotates one, or restricts an account for a moment.
func (c *client) manageKeys(ctx context.Context) error {
	caller := pick(c.rand, c.callers)
	switch c.rand.IntN(3) {
	case 0:
		minted, err := c.MintKey(ctx, caller, "minted", nil)
		if err == nil {
			c.keys = append(c.keys, command.IssuedKey{AccountID: minted.AccountID, KeyID: minted.ID})
		}
		return err
	case 1:
		_, err := c.RotateKey(ctx, caller, pick(c.rand, c.keys).KeyID, c.rand.IntN(2) == 0)
		return err
	default:
		if err := c.RestrictAccount(ctx, caller.AccountID, "test", "test", ""); err != nil || c.rand.IntN(2) == 0 {
			return err
		}
		return c.UnrestrictAccount(ctx, caller.AccountID, "test", "test", "")
	}
}

// upgrade upgrades a sandbox, which may already be upgraded.
func (c *client) upgrade(ctx context.Context) error {
	for _, v := range c.videos {
		if !v.Livemode && c.rand.IntN(2) == 0 {
			_, err := c.Upgrade(ctx, v.Caller, command.Upgrade{AddressHash: fmt.Sprintf("address %s %d", c.name, c.rand.IntN(3))})
			return err
		}
	}
	return nil
}

// claimKey requests a device code. In most cases it continues: a person enters a wrong
// code, decides, and the program collects the key.
func (c *client) claimKey(ctx context.Context) error {
	requested, err := c.RequestDeviceCode(ctx, command.Caller{RequestID: "req"}, fmt.Sprintf("address %s %d", c.name, c.rand.IntN(3)))
	if err != nil {
		return err
	}
	person, hash := pick(c.rand, c.callers), account.HashSecret(requested.DeviceCode)
	switch c.rand.IntN(4) {
	case 0:
		return c.EnterUserCode(ctx, person, false)
	case 1:
		return c.DenyDeviceCode(ctx, person, hash)
	case 2:
		return c.ApproveDeviceCode(ctx, person, hash)
	}
	if err := c.ApproveDeviceCode(ctx, person, hash); err != nil {
		return err
	}
	key, err := c.CollectKey(ctx, hash, person.AccountID, "req")
	if err == nil {
		c.keys = append(c.keys, key)
	}
	return err
}

func (c *client) grant(ctx context.Context) error {
	kind, seconds := credit.Purchase, 1+c.rand.Int64N(50)
	if c.rand.IntN(2) == 0 {
		kind, seconds = credit.Adjustment, -seconds
	}
	_, err := c.GrantCredits(ctx, command.GrantCredits{
		CreditChange: command.CreditChange{
			AccountID: pick(c.rand, c.callers).AccountID, Reason: "test", Operator: "test",
			Idempotency: idempotency(fmt.Sprint(c.name, c.rand.IntN(20))),
		},
		Kind: kind, Seconds: seconds,
	})
	return err
}

// sealKey is published by every client.
var sealKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func (c *client) seal(ctx context.Context) error {
	if err := c.AddLedgerKey(ctx, sealKey.Public().(ed25519.PublicKey)); err != nil {
		return err
	}
	log, err := c.LedgerLog(ctx)
	if err != nil {
		return err
	}
	_, err = c.SealLog(ctx, credit.LogSealed{Log: 1, Size: log.Last.Size + 1})
	var rival *eventstore.ConflictError
	if errors.As(err, &rival) || fault.Has(err, fault.ResourceConflict) {
		return nil // another client was first
	}
	return err
}

func (c *client) upload(ctx context.Context) error {
	caller := pick(c.rand, c.callers)
	v, err := c.CreateVideo(ctx, caller, command.CreateVideo{ContentType: "video/mp4", Metadata: map[string]string{"b": "2", "a": "1"}})
	if err != nil {
		return err
	}
	c.videos = append(c.videos, owned{caller, v.ID})
	if c.rand.IntN(4) > 0 {
		_, err = c.CompleteVideo(ctx, caller, v.ID)
	}
	return err
}

func (c *client) fetch(ctx context.Context) error {
	caller, url := pick(c.rand, c.callers), "https://example.com/clip.mp4"
	v, err := c.CreateVideo(ctx, caller, command.CreateVideo{URL: &url})
	if err != nil {
		return err
	}
	c.videos = append(c.videos, owned{caller, v.ID})
	c.fetches = append(c.fetches, command.Fetch{AccountID: caller.AccountID, VideoID: v.ID, URL: url, Attempt: 1})
	return nil
}

func (c *client) endFetch(ctx context.Context) error {
	if len(c.fetches) == 0 {
		return nil
	}
	f := pick(c.rand, c.fetches)
	if c.rand.IntN(3) == 0 {
		return c.FailVideo(ctx, f, fault.New(fault.VideoUnreadable, ""))
	}
	_, err := c.FinishFetch(ctx, f, file(f.VideoID, "video/quicktime"))
	return err
}

func (c *client) remove(ctx context.Context) error {
	if len(c.videos) == 0 {
		return nil
	}
	v := pick(c.rand, c.videos)
	return c.DeleteVideo(ctx, v.Caller, v.id)
}

func (c *client) ask(ctx context.Context) error {
	if len(c.videos) == 0 {
		return nil
	}
	v := pick(c.rand, c.videos)
	prompt := pick(c.rand, []string{"Is there a dog?", "How many cars are there?", "What is happening?", "Are there at least two people?"})
	q := command.CreateAnalysis{VideoID: v.id, Prompt: &prompt, ValidateOnly: c.rand.IntN(10) == 0, Narrative: c.rand.IntN(2) == 0}
	p, err := c.CreateAnalysis(ctx, v.Caller, q)
	if err == nil && !q.ValidateOnly {
		c.analyses = append(c.analyses, command.Run{AccountID: v.AccountID, AnalysisID: p.Analysis.ID, VideoID: v.id, Attempt: 1})
	}
	return err
}

func (c *client) batch(ctx context.Context) error {
	if len(c.videos) == 0 {
		return nil
	}
	v := pick(c.rand, c.videos)
	prompts := []string{"Is there a dog?", "What is happening?", "How many cars are there?"}[c.rand.IntN(2):]
	b, err := c.CreateBatch(ctx, v.Caller, command.CreateBatch{VideoID: v.id, Prompts: prompts, DiscountPct: 50})
	if err != nil {
		return err
	}
	for _, p := range b.Analyses {
		c.analyses = append(c.analyses, command.Run{AccountID: v.AccountID, AnalysisID: p.Analysis.ID, VideoID: v.id, Attempt: 1})
	}
	return nil
}

// outage opens an incident or closes one.
func (c *client) outage(ctx context.Context) error {
	if len(c.incidents) > 0 && c.rand.IntN(2) == 0 {
		_, err := c.CloseIncident(ctx, pick(c.rand, c.incidents), "test")
		return err
	}
	opened, err := c.OpenIncident(ctx, "The engine is down", "test")
	c.incidents = append(c.incidents, opened.ID)
	return err
}

// rerun repeats an analysis. Most analyses are not eligible.
func (c *client) rerun(ctx context.Context) error {
	r, ok := c.run()
	if !ok {
		return nil
	}
	a, err := c.RerunAnalysis(ctx, command.Caller{AccountID: r.AccountID, Livemode: true, Tier: account.Paid}, r.AnalysisID)
	if err == nil {
		c.analyses = append(c.analyses, command.Run{AccountID: r.AccountID, AnalysisID: a.ID, VideoID: r.VideoID, Attempt: 1})
	}
	return err
}

func (c *client) run() (command.Run, bool) {
	if len(c.analyses) == 0 {
		return command.Run{}, false
	}
	// The latest analyses are still open.
	last := c.analyses[max(0, len(c.analyses)-6):]
	r := pick(c.rand, last)
	r.Attempt = 1 + c.rand.IntN(2)
	return r, true
}

func (c *client) claim(ctx context.Context) error {
	r, ok := c.run()
	if !ok {
		return nil
	}
	_, _, err := c.ClaimAnalysis(ctx, r, "worker")
	return err
}

func (c *client) progress(ctx context.Context) error {
	r, ok := c.run()
	if !ok {
		return nil
	}
	return c.ReportProgress(ctx, r, pick(c.rand, []analysis.Status{analysis.Analyzing, analysis.Rendering}), c.rand.IntN(101))
}

func (c *client) complete(ctx context.Context) error {
	r, ok := c.run()
	if !ok {
		return nil
	}
	planned := pick(c.rand, []*analysis.Artifacts{nil, {VideoKey: "annotated.mp4"}})
	return c.CompleteAnalysis(ctx, r, answer.Refused(english.Compile("What is happening?")), 7_300_000, 15, planned)
}

// afterwork ends a rendering or a narrative. Often none is pending.
func (c *client) afterwork(ctx context.Context) error {
	r, ok := c.run()
	if !ok {
		return nil
	}
	w := command.Afterwork{AccountID: r.AccountID, AnalysisID: r.AnalysisID}
	switch c.rand.IntN(4) {
	case 0:
		return c.RecordDrawing(ctx, w, &analysis.Artifacts{VideoKey: "annotated.mp4"})
	case 1:
		return c.RecordDrawing(ctx, w, nil)
	case 2:
		return c.RecordNarrative(ctx, w, []analysis.NarrativeEntry{{Text: "A dog is in view."}})
	default:
		return c.FailNarrative(ctx, w)
	}
}

// hook creates a webhook endpoint or changes one. Some are deleted already.
func (c *client) hook(ctx context.Context) error {
	caller := pick(c.rand, c.callers)
	own := c.endpoints[caller.AccountID]
	if len(own) == 0 || c.rand.IntN(3) == 0 {
		e, err := c.CreateWebhookEndpoint(ctx, caller, webhook.Settings{URL: "https://example.com/hook", Events: webhook.EventTypes()})
		if err == nil {
			c.endpoints[caller.AccountID] = append(own, e.ID)
		}
		return err
	}
	var err error
	endpointID := pick(c.rand, own)
	switch c.rand.IntN(5) {
	case 0:
		_, err = c.DisableWebhookEndpoint(ctx, caller, endpointID)
	case 1:
		_, err = c.EnableWebhookEndpoint(ctx, caller, endpointID)
	case 2:
		_, err = c.RotateWebhookSecret(ctx, caller, endpointID)
	case 3:
		_, err = c.ChangeWebhookEndpoint(ctx, caller, webhook.Change{Ref: webhook.Ref{ID: endpointID}, Events: []string{"video.ready"}})
	default:
		err = c.DeleteWebhookEndpoint(ctx, caller, endpointID)
	}
	return err
}

func (c *client) fail(ctx context.Context) error {
	r, ok := c.run()
	if !ok {
		return nil
	}
	return c.FailAnalysis(ctx, r, analysis.Failure{Code: fault.InferenceError, Message: "test"})
}

func (c *client) cancel(ctx context.Context) error {
	if len(c.analyses) == 0 {
		return nil
	}
	r := pick(c.rand, c.analyses)
	_, err := c.CancelAnalysis(ctx, command.Caller{AccountID: r.AccountID, Livemode: true, Tier: account.Paid}, r.AnalysisID)
	return err
}
