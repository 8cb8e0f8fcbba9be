package fault

// Code is a stable, machine-readable name of a failure.
type Code string

// The codes of the contract. The registry is closed and append-only within v1.
const (
	InvalidAPIKey             Code = "invalid_api_key"
	KeyRevoked                Code = "key_revoked"
	KeyExpired                Code = "key_expired"
	TokenExpired              Code = "token_expired"
	ForgeTokenInvalid         Code = "forge_token_invalid"
	InsufficientScope         Code = "insufficient_scope"
	AccountRestricted         Code = "account_restricted"
	TestModeOnly              Code = "test_mode_only"
	TestKeyFixtureOnly        Code = "test_key_fixture_only"
	ForgeVerificationRequired Code = "forge_verification_required"
	ValidationFailed          Code = "validation_failed"
	UploadIncomplete          Code = "upload_incomplete"
	VideoUnreadable           Code = "video_unreadable"
	VideoTooLarge             Code = "video_too_large"
	VideoTooLong              Code = "video_too_long"
	URLFetchFailed            Code = "url_fetch_failed"
	URLForbidden              Code = "url_forbidden"
	PromptEmpty               Code = "prompt_empty"
	PromptTooLong             Code = "prompt_too_long"
	QueryInvalid              Code = "query_invalid"
	ModelNotFound             Code = "model_not_found"
	ModelDeprecated           Code = "model_deprecated"
	WebhookEndpointLimit      Code = "webhook_endpoint_limit"
	PayloadTooLarge           Code = "payload_too_large"
	UnsupportedMediaType      Code = "unsupported_media_type"
	ParseFailed               Code = "parse_failed"
	ResourceNotFound          Code = "resource_not_found"
	ResourceConflict          Code = "resource_conflict"
	IdempotencyKeyReused      Code = "idempotency_key_reused"
	IdempotencyUnavailable    Code = "idempotency_unavailable"
	StreamAlreadyActive       Code = "stream_already_active"
	AnalysisNotCancelable     Code = "analysis_not_cancelable"
	RerunNotEligible          Code = "rerun_not_eligible"
	ForgeAccountAlreadyUsed   Code = "forge_account_already_used"
	DeviceCodeExpired         Code = "device_code_expired"
	InsufficientCredits       Code = "insufficient_credits"
	GrantExhausted            Code = "grant_exhausted"
	RateLimitExceeded         Code = "rate_limit_exceeded"
	ConcurrencyLimitExceeded  Code = "concurrency_limit_exceeded"
	QuotaExceeded             Code = "quota_exceeded"
	SandboxLimitExceeded      Code = "sandbox_limit_exceeded"
	UpgradeLimitExceeded      Code = "upgrade_limit_exceeded"
	UpstreamError             Code = "upstream_error"
	CapacityExhausted         Code = "capacity_exhausted"
	InferenceUnavailable      Code = "inference_unavailable"
	DBUnavailable             Code = "db_unavailable"
	InternalError             Code = "internal_error"
	EmptyPrompt               Code = "empty_prompt"
	ParseUnavailable          Code = "parse_unavailable"
	InferenceError            Code = "inference_error"
	StuckTimeout              Code = "stuck_timeout"
)

// Entry describes a code (api-v1.md, "GET /v1/errors").
type Entry struct {
	Code Code
	// Status is the HTTP status, or 0 for a code that appears only inside a failed
	// resource.
	Status int
	// Retryable: safe to retry unchanged with backoff.
	Retryable bool
	// Idem: safe to retry with the same Idempotency-Key.
	Idem bool
	// Message is the default sentence for a person.
	Message string
}

var registry = []Entry{
	{InvalidAPIKey, 401, false, false, "The API key is missing, malformed or unknown."},
	{KeyRevoked, 401, false, false, "This API key was revoked."},
	{KeyExpired, 401, false, false, "This API key has expired."},
	{TokenExpired, 401, false, false, "This client token has expired."},
	{ForgeTokenInvalid, 401, false, false, "The identity token could not be verified."},
	{InsufficientScope, 403, false, false, "The credential lacks the scope that this operation needs."},
	{AccountRestricted, 403, false, false, "This account is restricted."},
	{TestModeOnly, 403, false, false, "This operation needs a test key."},
	{TestKeyFixtureOnly, 403, false, false, "A test key can analyze only the fixture video that came with it."},
	{ForgeVerificationRequired, 403, false, false, "An identity check is required before this operation."},
	{ValidationFailed, 400, false, false, "The request is not valid."},
	{UploadIncomplete, 400, false, false, "The upload is missing or its size differs from the declared size by more than 5%."},
	{VideoUnreadable, 400, false, false, "The file is not a readable MP4 or QuickTime video."},
	{VideoTooLarge, 400, false, false, "The video is larger than 2147483648 bytes."},
	{VideoTooLong, 400, false, false, "The video is longer than the plan allows."},
	{URLFetchFailed, 400, true, false, "The video could not be fetched from its URL."},
	{URLForbidden, 400, false, false, "The URL points to a target that is not allowed."},
	{PromptEmpty, 400, false, false, "A prompt or a query is required."},
	{PromptTooLong, 400, false, false, "The prompt is longer than 2000 characters."},
	{QueryInvalid, 400, false, false, "The compiled query does not match its schema."},
	{ModelNotFound, 400, false, false, "There is no such model."},
	{ModelDeprecated, 400, false, false, "This model is past its sunset."},
	{WebhookEndpointLimit, 400, false, false, "The account already has 10 webhook endpoints."},
	{PayloadTooLarge, 413, false, false, "The request body is too large."},
	{UnsupportedMediaType, 415, false, false, "The content type is not supported."},
	{ParseFailed, 422, true, false, "The prompt could not be compiled."},
	{ResourceNotFound, 404, false, false, "There is no such resource."},
	{ResourceConflict, 409, false, false, "The resource is in a state that forbids this operation."},
	{IdempotencyKeyReused, 409, false, false, "This Idempotency-Key was used with a different request."},
	{IdempotencyUnavailable, 409, true, true, "A request with this Idempotency-Key is still running."},
	{StreamAlreadyActive, 409, false, false, "The account already has an active stream."},
	{AnalysisNotCancelable, 409, false, false, "The analysis is already terminal."},
	{RerunNotEligible, 409, false, false, "This analysis has no free re-run."},
	{ForgeAccountAlreadyUsed, 409, false, false, "This identity account has already claimed its free grant."},
	{DeviceCodeExpired, 410, false, false, "The device code is expired or consumed."},
	{InsufficientCredits, 402, false, false, "The credit balance does not cover this operation."},
	{GrantExhausted, 402, false, false, "The free grant is used up."},
	{RateLimitExceeded, 429, true, true, "Too many requests."},
	{ConcurrencyLimitExceeded, 429, true, true, "Too many analyses are active; wait for one to finish."},
	{QuotaExceeded, 429, false, false, "The quota is used up."},
	{SandboxLimitExceeded, 429, true, true, "Too many sandbox keys were issued to this address."},
	{UpgradeLimitExceeded, 429, false, false, "Too many upgrades were made from this address."},
	{UpstreamError, 502, false, false, "An upstream service failed."},
	{CapacityExhausted, 503, true, true, "The service is at capacity; try again later."},
	{InferenceUnavailable, 503, true, true, "Inference is not available at the moment."},
	{DBUnavailable, 503, true, true, "The database is not available at the moment."},
	{InternalError, 500, true, true, "Something went wrong on our side."},
	{EmptyPrompt, 400, false, false, "The prompt is empty."},
	{ParseUnavailable, 503, true, true, "The parser is not available at the moment."},
	{InferenceError, 0, false, false, "The model failed on this input; a new analysis may be created."},
	{StuckTimeout, 0, false, false, "The job was lost and was not billed; submit it again."},
}

var byCode = func() map[Code]Entry {
	m := make(map[Code]Entry, len(registry))
	for _, e := range registry {
		m[e.Code] = e
	}
	return m
}()

// Registry returns every entry in the order of the contract.
func Registry() []Entry { return append([]Entry(nil), registry...) }

// Lookup returns the entry of a code; an unknown code is a bug and reads as
// internal_error.
func Lookup(code Code) Entry {
	if e, ok := byCode[code]; ok {
		return e
	}
	return byCode[InternalError]
}
