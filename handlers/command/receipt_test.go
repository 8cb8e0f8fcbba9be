package command

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"vqa/domain/credit"
	"vqa/domain/fault"
	"vqa/domain/video"
	"vqa/eventstore"
)

func TestSameKeyTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100).keyed("k", "body")
	before := len(w.history())
	errs := together(16, func(int) error {
		_, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
		return err
	})
	require.Equal(t, map[string]int{"ok": 1, "idempotency_unavailable": 15}, tally(errs))
	for _, err := range errs {
		if err != nil {
			require.GreaterOrEqual(t, fault.Of(err).RetryAfterS, 1)
		}
	}
	require.Len(t, w.history(), before+1, "one video")
}

// TestSameKeyOnTwoNodes: two nodes on the same log, each with its own pipeline.
func TestSameKeyOnTwoNodes(t *testing.T) {
	t.Parallel()
	one := newWorld(t)
	two := newWorld(t, withStore(one.log))
	caller := one.account(100)
	videoID := one.readyVideo(caller)
	for range 20 {
		caller = caller.keyed(one.IDs.New("req"), "body")
		errs := together(8, func(i int) error {
			w := []*world{one, two}[i%2]
			_, err := w.CreateAnalysis(t.Context(), caller, CreateAnalysis{VideoID: videoID, Prompt: ptr("What does this mean?")})
			return err
		})
		require.Equal(t, map[string]int{"ok": 1, "idempotency_unavailable": 7}, tally(errs))
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	r, err := w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Nil(t, r, "a request without a key is never a replay")

	caller = caller.keyed("k", "body")
	r, err = w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Nil(t, r, "the first request")

	v, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	r, err = w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Equal(t, v.ID, r.ResourceID)
	require.Zero(t, r.Status, "the response is not saved yet")

	require.NoError(t, w.SaveResponse(t.Context(), caller, 201, []byte(`{"id":1}`)))
	r, err = w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Equal(t, 201, r.Status)
	require.JSONEq(t, `{"id":1}`, string(r.Body))

	_, err = w.Replay(t.Context(), caller.keyed("k", "another body"))
	requireFault(t, err, fault.IdempotencyKeyReused)

	other := w.account(100).keyed("k", "another body")
	r, err = w.Replay(t.Context(), other)
	require.NoError(t, err)
	require.Nil(t, r, "keys belong to an account")

	w.clock.advance(eventstore.ReceiptWindow)
	r, err = w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Nil(t, r, "the window has passed")
	again, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	require.NotEqual(t, v.ID, again.ID)
}

func TestRefusedRequestLeavesNoReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(5)
	videoID := w.readyVideo(caller)
	caller = caller.keyed("k", "body")
	w.requireUnchanged(func() {
		_, err := w.CreateAnalysis(t.Context(), caller, ask(videoID))
		requireFault(t, err, fault.InsufficientCredits)
	})
	_, err := w.GrantCredits(t.Context(), GrantCredits{CreditChange: CreditChange{AccountID: caller.AccountID}, Kind: credit.Purchase, Seconds: 5})
	require.NoError(t, err)
	plan, err := w.CreateAnalysis(t.Context(), caller, ask(videoID))
	require.NoError(t, err, "the same key may be used again")
	r, err := w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Equal(t, plan.Analysis.ID, r.ResourceID)
}

func TestValidateOnlyLeavesNoReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	videoID := w.readyVideo(caller)
	caller = caller.keyed("k", "body")
	preview := ask(videoID)
	preview.ValidateOnly = true
	w.requireUnchanged(func() {
		_, err := w.CreateAnalysis(t.Context(), caller, preview)
		require.NoError(t, err)
	})
	r, err := w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.Nil(t, r)
}

// TestReceiptWithoutEffect: a request with a key that has nothing to do still records a receipt.
func TestReceiptWithoutEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	v, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	// Another node completes the video while this one inspects its bytes.
	w.intake.during = func() {
		w.intake.during = nil
		_, err := w.CompleteVideo(context.Background(), caller, v.ID)
		require.NoError(t, err)
	}
	keyed := caller.keyed("k", "body")
	v, err = w.CompleteVideo(t.Context(), keyed, v.ID)
	require.NoError(t, err)
	require.Equal(t, video.ReadyStatus, v.Status)
	r, err := w.Replay(t.Context(), keyed)
	require.NoError(t, err)
	require.NotNil(t, r)
}

func TestGrantIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100)
	order := GrantCredits{
		CreditChange: CreditChange{
			AccountID: caller.AccountID, Reason: "invoice 7", Operator: "op", Idempotency: caller.keyed("invoice-7", "50").Idempotency,
		},
		Kind: credit.Purchase, Seconds: 50,
	}
	first, err := w.GrantCredits(t.Context(), order)
	require.NoError(t, err)
	require.False(t, first.Repeated)
	for range 3 {
		again, err := w.GrantCredits(t.Context(), order)
		require.NoError(t, err)
		require.Equal(t, int64(150), again.Balance.PostedSeconds)
		require.True(t, again.Repeated)
		require.Equal(t, first.TransactionID, again.TransactionID)
	}
	// An API caller may use the same key for another request.
	_, err = w.CreateVideo(t.Context(), caller.keyed("invoice-7", "a video"), CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	order.Idempotency = caller.keyed("invoice-7", "60").Idempotency
	_, err = w.GrantCredits(t.Context(), order)
	requireFault(t, err, fault.IdempotencyKeyReused)

	order.Idempotency = caller.keyed("invoice-8", "50").Idempotency
	errs := together(8, func(int) error {
		_, err := w.GrantCredits(context.Background(), order)
		return err
	})
	require.Subset(t, []string{"ok", "idempotency_unavailable"}, slices.Collect(maps.Keys(tally(errs))))
	require.Equal(t, int64(200), stateOf(w, credits, caller.AccountID).PostedSeconds)
}

// TestReplayAtTheEndOfItsWindow: one second before 24 hours, a request is still a replay.
func TestReplayAtTheEndOfItsWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	caller := w.account(100).keyed("k", "body")
	_, err := w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	require.NoError(t, err)
	w.clock.advance(eventstore.ReceiptWindow - time.Second)
	r, err := w.Replay(t.Context(), caller)
	require.NoError(t, err)
	require.NotNil(t, r)
	_, err = w.CreateVideo(t.Context(), caller, CreateVideo{ContentType: "video/mp4"})
	requireFault(t, err, fault.IdempotencyUnavailable)
}
