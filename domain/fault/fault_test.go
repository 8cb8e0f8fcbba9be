package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"vqa/domain/fault"
)

// contract is the table of docs/contract.md#error-registry and the codes that the contract
// names elsewhere. It is a copy, so that a change of the registry needs a change here too.
var contract = []struct {
	code      fault.Code
	status    int
	retryable bool
	idem      bool
}{
	{"invalid_api_key", 401, false, false},
	{"key_revoked", 401, false, false},
	{"key_expired", 401, false, false},
	{"token_expired", 401, false, false},
	{"forge_token_invalid", 401, false, false},
	{"insufficient_scope", 403, false, false},
	{"account_restricted", 403, false, false},
	{"test_mode_only", 403, false, false},
	{"test_key_fixture_only", 403, false, false},
	{"forge_verification_required", 403, false, false},
	{"validation_failed", 400, false, false},
	{"upload_incomplete", 400, false, false},
	{"video_unreadable", 400, false, false},
	{"video_too_large", 400, false, false},
	{"video_too_long", 400, false, false},
	{"url_fetch_failed", 400, true, false},
	{"url_forbidden", 400, false, false},
	{"prompt_empty", 400, false, false},
	{"prompt_too_long", 400, false, false},
	{"query_invalid", 400, false, false},
	{"model_not_found", 400, false, false},
	{"model_deprecated", 400, false, false},
	{"webhook_endpoint_limit", 400, false, false},
	{"payload_too_large", 413, false, false},
	{"unsupported_media_type", 415, false, false},
	{"parse_failed", 422, true, false},
	{"resource_not_found", 404, false, false},
	{"resource_conflict", 409, false, false},
	{"idempotency_key_reused", 409, false, false},
	{"idempotency_unavailable", 409, true, true},
	{"stream_already_active", 409, false, false},
	{"analysis_not_cancelable", 409, false, false},
	{"rerun_not_eligible", 409, false, false},
	{"forge_account_already_used", 409, false, false},
	{"device_code_expired", 410, false, false},
	{"insufficient_credits", 402, false, false},
	{"grant_exhausted", 402, false, false},
	{"rate_limit_exceeded", 429, true, true},
	{"concurrency_limit_exceeded", 429, true, true},
	{"quota_exceeded", 429, false, false},
	{"sandbox_limit_exceeded", 429, true, true},
	{"upgrade_limit_exceeded", 429, false, false},
	{"upstream_error", 502, false, false},
	{"capacity_exhausted", 503, true, true},
	{"inference_unavailable", 503, true, true},
	{"db_unavailable", 503, true, true},
	{"internal_error", 500, true, true},
	// The parse endpoint returns these. The contract gives them no flags.
	{"empty_prompt", 400, false, false},
	{"parse_unavailable", 503, true, true},
	// These appear only inside failed resources, so they have no status.
	{"inference_error", 0, false, false},
	{"stuck_timeout", 0, false, false},
}

func TestRegistryIsTheContract(t *testing.T) {
	t.Parallel()
	type entry struct {
		Code            fault.Code
		Status          int
		Retryable, Idem bool
	}
	var want, got []entry
	for _, c := range contract {
		want = append(want, entry{c.code, c.status, c.retryable, c.idem})
	}
	for _, e := range fault.Registry() {
		require.NotEmpty(t, e.Message, "%s has no message", e.Code)
		require.Equal(t, e, fault.Lookup(e.Code))
		got = append(got, entry{e.Code, e.Status, e.Retryable, e.Idem})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("registry (-contract +registry):\n%s", diff)
	}
}

func TestRegistryCannotBeChangedThroughItsCopy(t *testing.T) {
	t.Parallel()
	before := fault.Registry()[0]
	fault.Registry()[0] = fault.Entry{Code: "mine"}
	require.Equal(t, before, fault.Registry()[0])
}

func TestUnknownCodeReadsAsInternalError(t *testing.T) {
	t.Parallel()
	require.Equal(t, fault.InternalError, fault.Lookup("no_such_code").Code)
}

func TestFaultIsFoundInAChain(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	err := fmt.Errorf("creating: %w", fault.New(fault.DBUnavailable, "").WithCause(cause))

	require.True(t, fault.Has(err, fault.DBUnavailable))
	require.False(t, fault.Has(err, fault.InternalError))
	require.ErrorIs(t, err, fault.New(fault.DBUnavailable, "another message"), "faults compare by code")
	require.NotErrorIs(t, err, fault.New(fault.InternalError, ""))
	require.ErrorIs(t, err, cause)
	require.Equal(t, fault.Lookup(fault.DBUnavailable).Message, fault.Of(err).Message)
	require.Nil(t, fault.Of(cause))
	require.False(t, fault.Has(nil, fault.InternalError))
}

func TestInvalidListsEveryViolation(t *testing.T) {
	t.Parallel()
	first := fault.Violation{Param: "metadata.a b", Code: fault.Format, Message: "has a space"}
	second := fault.Violation{Param: "", Code: fault.Type, Message: "is not an object"}
	f := fault.Invalid(first, second)
	require.Equal(t, fault.ValidationFailed, f.Code)
	require.Equal(t, []fault.Violation{first, second}, f.Violations)
	require.Equal(t, "metadata.a b: has a space", f.Message)
	require.Equal(t, "is not an object", fault.Invalid(second).Message, "a violation of the whole body names no field")
	require.NotEmpty(t, fault.Invalid().Message)
}

func TestRetryAfterIsAtLeastOneSecond(t *testing.T) {
	t.Parallel()
	for given, want := range map[int]int{-5: 1, 0: 1, 1: 1, 90: 90} {
		require.Equal(t, want, fault.New(fault.RateLimitExceeded, "").WithRetryAfter(given).RetryAfterS)
	}
}

func TestBuildersKeepEachOther(t *testing.T) {
	t.Parallel()
	f := fault.Newf(fault.InsufficientCredits, "%d are missing", 3).
		WithParam("seconds").WithDetail("meter", "credit_seconds").WithDetail("needed_seconds", 3)
	require.Equal(t, &fault.Fault{
		Code: fault.InsufficientCredits, Message: "3 are missing", Param: "seconds",
		Details: map[string]any{"meter": "credit_seconds", "needed_seconds": 3},
	}, f)
	require.Equal(t, "insufficient_credits: 3 are missing", f.Error())
}

func TestNotFoundSaysWhatTheCallerSaid(t *testing.T) {
	t.Parallel()
	f := fault.NotFound("video_id", "video_x")
	require.Equal(t, "video_id", f.Param)
	require.Equal(t, `There is no resource with the id "video_x".`, f.Message)
	require.Equal(t, `There is no resource with the id "\u202e\x1b".`, fault.NotFound("id", "\u202e\x1b").Message)
	require.Less(t, len(fault.NotFound("id", strings.Repeat("é", 5000)).Message), 120)
	require.Equal(t, "There is no such resource. Check the id and the account of your key.", fault.NotFound("id", "").Message)
}
