package chaos_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"
)

const (
	customerCount = 6
	grantSeconds  = 1_000_000
)

// questions have one prompt about what the engine finds and one about what it does not find.
var questions = []struct{ prompt, answer string }{
	{"Is there a stop sign?", "yes"}, {"Is there a dog?", "no"}, {"Are there stop signs?", "yes"}, {"Is there a cat?", "no"},
}

// customer is an account with a program that uses the API.
type customer struct {
	*client
	world      *world
	number     int
	accountID  string
	keyID, key string
	videos     []*video
	analyses   []*analysis
	keys       map[string]string // by id: active or revoked
	revoked    []string          // secrets
	operations int
	watcher    *watcher
}

type video struct {
	id      string
	seconds float64
	deleted bool
}

// analysis is what the customer knows about an analysis.
type analysis struct {
	id, answer  string
	seconds     float64 // to bill
	cancelAsked bool
	canceled    bool // the service said so
}

// name makes an idempotency key.
func (c *customer) name(what string) string {
	return fmt.Sprintf("chaos-%d-%d-%s", c.number, c.operations, what)
}

// act carries out operations until stop ends. Each one is finished, within ctx.
func (c *customer) act(ctx context.Context, stop <-chan struct{}, next func() operation) error {
	for {
		o := next()
		if c.operations == 0 {
			o.act = upload
		}
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(o.pause):
		}
		c.operations++
		if err := c.perform(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", actNames[o.act], err)
		}
		c.records.mu.Lock()
		c.records.done[o.act]++
		c.records.mu.Unlock()
	}
}

func (c *customer) perform(ctx context.Context, o operation) error {
	switch o.act {
	case upload:
		return c.upload(ctx, o)
	case fetch:
		return c.fetch(ctx)
	case changeKey:
		return c.changeKey(ctx)
	case replaceKey:
		return c.replaceKey(ctx)
	}
	v := c.video(o.a)
	if v == nil {
		return nil
	}
	switch o.act {
	case ask:
		_, err := c.ask(ctx, v, o)
		return err
	case batch:
		return c.batch(ctx, v, o)
	case cancel:
		return c.cancel(ctx, v, o)
	case rerun:
		return c.rerun(ctx, o)
	default:
		return c.remove(ctx, v)
	}
}

// video chooses a video that was not deleted, or nil.
func (c *customer) video(n int) *video {
	var kept []*video
	for _, v := range c.videos {
		if !v.deleted {
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept[n%len(kept)]
}

// expects blames an answer with another status. It returns whether the status is right.
func (c *customer) expects(what string, got response, statuses ...int) bool {
	for _, s := range statuses {
		if got.status == s {
			return true
		}
	}
	c.records.blame("customer %d: %s: %d %s", c.number, what, got.status, got.raw)
	return false
}

func (c *customer) send(ctx context.Context, method, path string, body any, idempotency string) (response, error) {
	return c.do(ctx, request{method: method, path: path, key: c.key, body: body, idempotency: idempotency})
}

func (c *customer) upload(ctx context.Context, o operation) error {
	file := c.world.clips[o.b%len(c.world.clips)]
	created, err := c.send(ctx, http.MethodPost, "/v1/videos", map[string]any{"content_type": "video/mp4", "size_bytes": len(file.data)}, c.name("upload"))
	if err != nil || !c.expects("create a video", created, http.StatusCreated) {
		return err
	}
	v := &video{id: created.text("id"), seconds: file.seconds}
	header := map[string]string{}
	headers, _ := created.at("upload.headers").(map[string]any)
	for name, value := range headers {
		header[name], _ = value.(string)
	}
	put, err := c.do(ctx, request{method: http.MethodPut, path: created.text("upload.url"), body: file.data, header: header})
	if err != nil || !c.expects("upload "+v.id, put, http.StatusOK) {
		return err
	}
	done, err := c.send(ctx, http.MethodPost, "/v1/videos/"+v.id+"/complete", nil, "")
	if err != nil || !c.expects("complete "+v.id, done, http.StatusOK) {
		return err
	}
	if done.text("status") != "ready" {
		c.records.blame("customer %d: complete %s: %s", c.number, v.id, done.raw)
	}
	c.videos = append(c.videos, v)
	return nil
}

func (c *customer) fetch(ctx context.Context) error {
	created, err := c.send(ctx, http.MethodPost, "/v1/videos", map[string]any{"url": c.world.siteURL + "/clip.mp4"}, c.name("fetch"))
	if err != nil || !c.expects("fetch a video", created, http.StatusCreated) {
		return err
	}
	v := &video{id: created.text("id"), seconds: c.world.site.seconds}
	for {
		got, err := c.send(ctx, http.MethodGet, "/v1/videos/"+v.id, nil, "")
		if err != nil || !c.expects("read "+v.id, got, http.StatusOK) {
			return err
		}
		switch got.text("status") {
		case "ready":
			c.videos = append(c.videos, v)
			return nil
		case "failed":
			c.records.blame("customer %d: the fetch of %s failed: %s", c.number, v.id, got.raw)
			return nil
		}
		if err := until(ctx, time.Now().Add(time.Second)); err != nil {
			return err
		}
	}
}

func (c *customer) ask(ctx context.Context, v *video, o operation) (*analysis, error) {
	q := questions[o.b%len(questions)]
	got, err := c.send(ctx, http.MethodPost, "/v1/analyses", map[string]any{"video_id": v.id, "prompt": q.prompt}, c.name("ask"))
	if err != nil || !c.expects("ask about "+v.id, got, http.StatusAccepted, http.StatusOK) {
		return nil, err
	}
	a := &analysis{id: got.text("id"), answer: q.answer, seconds: math.Ceil(v.seconds)}
	c.analyses = append(c.analyses, a)
	read, err := c.send(ctx, http.MethodGet, "/v1/analyses/"+a.id, nil, "")
	if err == nil {
		c.expects("read back "+a.id, read, http.StatusOK)
	}
	return a, err
}

func (c *customer) batch(ctx context.Context, v *video, o operation) error {
	first, second := questions[o.b%len(questions)], questions[(o.b+1)%len(questions)]
	got, err := c.send(ctx, http.MethodPost, "/v1/analyses/batch", map[string]any{"video_id": v.id, "prompts": []string{first.prompt, second.prompt}}, c.name("batch"))
	if err != nil || !c.expects("batch about "+v.id, got, http.StatusAccepted, http.StatusOK) {
		return err
	}
	list, _ := got.at("analyses").([]any)
	if len(list) != 2 {
		c.records.blame("customer %d: batch: %s", c.number, got.raw)
		return nil
	}
	full := math.Ceil(v.seconds)
	c.analyses = append(c.analyses, &analysis{id: text(list[0], "id"), answer: first.answer, seconds: full},
		&analysis{id: text(list[1], "id"), answer: second.answer, seconds: math.Floor(full / 2)})
	return nil
}

func (c *customer) cancel(ctx context.Context, v *video, o operation) error {
	a, err := c.ask(ctx, v, o)
	if err != nil || a == nil {
		return err
	}
	if err := until(ctx, time.Now().Add(time.Duration(o.c%3000)*time.Millisecond)); err != nil {
		return err
	}
	a.cancelAsked = true
	got, err := c.send(ctx, http.MethodPost, "/v1/analyses/"+a.id+"/cancel", nil, "")
	if err != nil || !c.expects("cancel "+a.id, got, http.StatusOK, http.StatusConflict) {
		return err
	}
	a.canceled = got.status == http.StatusOK && got.text("status") == "canceled"
	return nil
}

// rerun asks for a free re-run of an analysis that did not fail, which is refused.
func (c *customer) rerun(ctx context.Context, o operation) error {
	if len(c.analyses) == 0 {
		return nil
	}
	a := c.analyses[o.b%len(c.analyses)]
	got, err := c.send(ctx, http.MethodPost, "/v1/analyses/"+a.id+"/rerun", nil, c.name("rerun"))
	if err == nil && c.expects("re-run "+a.id, got, http.StatusConflict) && got.code() != "rerun_not_eligible" {
		c.records.blame("customer %d: re-run %s: %s", c.number, a.id, got.raw)
	}
	return err
}

func (c *customer) remove(ctx context.Context, v *video) error {
	got, err := c.send(ctx, http.MethodDelete, "/v1/videos/"+v.id, nil, "")
	if err != nil {
		return err
	}
	switch {
	case got.status == http.StatusConflict && got.code() == "resource_conflict": // an analysis is not terminal
	case got.status == http.StatusNotFound && got.repeated, c.expects("delete "+v.id, got, http.StatusOK):
		v.deleted = true
	}
	return nil
}
