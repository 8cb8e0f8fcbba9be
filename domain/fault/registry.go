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

// Entry describes a code (docs/contract.md#error-registry).
type Entry struct {
	Code Code
	// Status is the HTTP status, or 0 for a code that appears only inside a failed
	// resource.
	Status int
	// Retryable is true when the same request can be sent again after a pause.
	Retryable bool
	// Idem is true when the retry can use the same Idempotency-Key.
	Idem bool
	// Message is the default message for a person.
	Message string
}

var registry = []Entry{
	{InvalidAPIKey, 401, false, false, "The API key is missing, malformed or unknown. Send a valid key as a Bearer token in the Authorization header."},
	{KeyRevoked, 401, false, false, "This API key was revoked. Use another key of the account."},
	{KeyExpired, 401, false, false, "This API key has expired. Create a new key."},
	{TokenExpired, 401, false, false, "This client token has expired. Create a new one with POST /v1/client_tokens."},
	{ForgeTokenInvalid, 401, false, false, "Cannot verify the identity token. Get a new one and try again."},
	{InsufficientScope, 403, false, false, "The API key or token lacks the scope that this operation needs. Use one that has it."},
	{AccountRestricted, 403, false, false, "This account is restricted. Contact the operator of this service."},
	{TestModeOnly, 403, false, false, "This operation needs a test key. Use a key that starts with svc_test_."},
	{TestKeyFixtureOnly, 403, false, false, "A test key can analyze only the fixture video that came with it. Use that video, or a live key."},
	{ForgeVerificationRequired, 403, false, false, "Verify your identity before you use this operation."},
	{ValidationFailed, 400, false, false, "The request is not valid. Correct the fields that errors lists."},
	{UploadIncomplete, 400, false, false, "The upload is missing, or its size differs from the declared size by more than 5%. Upload the file again."},
	{VideoUnreadable, 400, false, false, "The file is not a readable MP4 or QuickTime video. Convert it and upload it again."},
	{VideoTooLarge, 400, false, false, "The video is larger than 2147483648 bytes. Compress or split it."},
	{VideoTooLong, 400, false, false, "The video is longer than the plan allows. Shorten it, or upgrade the plan."},
	{URLFetchFailed, 400, true, false, "Cannot fetch the video from its URL. Check that the URL is public, then try again."},
	{URLForbidden, 400, false, false, "The URL points to a host or port that is not allowed. Use a public URL."},
	{PromptEmpty, 400, false, false, "The prompt is missing or empty. Send a prompt or a query."},
	{PromptTooLong, 400, false, false, "The prompt is longer than 2000 characters. Shorten it."},
	{QueryInvalid, 400, false, false, "The compiled query does not match its schema. Get a valid query from POST /v1/parse."},
	{ModelNotFound, 400, false, false, "There is no such model. Choose one from GET /v1/models."},
	{ModelDeprecated, 400, false, false, "This model is past its sunset date. Choose another from GET /v1/models."},
	{WebhookEndpointLimit, 400, false, false, "The account already has 10 webhook endpoints. Delete one first."},
	{PayloadTooLarge, 413, false, false, "The request body is too large. Send a smaller one."},
	{UnsupportedMediaType, 415, false, false, "This operation does not accept the Content-Type of the request. Send the type that it documents."},
	{ParseFailed, 422, true, false, "Cannot compile the prompt into a query. Rephrase it, or try again."},
	{ResourceNotFound, 404, false, false, "There is no such resource. Check the id and the account of your key."},
	{ResourceConflict, 409, false, false, "The status of the resource does not allow this operation. Read the resource to see its status."},
	{IdempotencyKeyReused, 409, false, false, "This Idempotency-Key was used with a different request. Use a new key for each request."},
	{IdempotencyUnavailable, 409, true, true, "A request with this Idempotency-Key is still running. Try again in a few seconds."},
	{StreamAlreadyActive, 409, false, false, "The account already has an active stream. End it first."},
	{AnalysisNotCancelable, 409, false, false, "The analysis has already ended and cannot be canceled."},
	{RerunNotEligible, 409, false, false, "This analysis has no free re-run. Create a new analysis instead."},
	{ForgeAccountAlreadyUsed, 409, false, false, "This identity account has already claimed its free grant. Use the account that received it."},
	{DeviceCodeExpired, 410, false, false, "The device code has expired or was already used. Request a new one."},
	{InsufficientCredits, 402, false, false, "The credit balance does not cover this operation. Add credits and try again."},
	{GrantExhausted, 402, false, false, "The free grant is used up. Add credits to continue."},
	{RateLimitExceeded, 429, true, true, "Too many requests. Wait for the time in Retry-After, then try again."},
	{ConcurrencyLimitExceeded, 429, true, true, "Too many analyses are active. Wait for one to finish."},
	{QuotaExceeded, 429, false, false, "The quota of the account is used up. GET /v1/usage shows the limits."},
	{SandboxLimitExceeded, 429, true, true, "Too many sandbox keys were issued to this address. Wait for the time in Retry-After, then try again."},
	{UpgradeLimitExceeded, 429, false, false, "Too many upgrades were made from this address. Try again later."},
	{UpstreamError, 502, false, false, "An external service that this operation needs failed."},
	{CapacityExhausted, 503, true, true, "The service is at capacity. Try again later."},
	{InferenceUnavailable, 503, true, true, "Inference is not available at the moment. Try again later."},
	{DBUnavailable, 503, true, true, "The database is not available at the moment. Try again later."},
	{InternalError, 500, true, true, "The server failed to process the request. Try again; if it fails again, report the request id."},
	{EmptyPrompt, 400, false, false, "The prompt is empty. Send a question about the video."},
	{ParseUnavailable, 503, true, true, "The parser is not available at the moment. Try again later."},
	{InferenceError, 0, false, false, "The model failed on this input. Create a new analysis."},
	{StuckTimeout, 0, false, false, "The analysis stopped without a result and was not billed. Submit it again."},
}

var byCode = func() map[Code]Entry {
	m := make(map[Code]Entry, len(registry))
	for _, e := range registry {
		m[e.Code] = e
	}
	return m
}()

// Registry returns every entry, in the order of the contract.
func Registry() []Entry { return append([]Entry(nil), registry...) }

// Lookup returns the entry of a code. An unknown code is a bug and reads as internal_error.
func Lookup(code Code) Entry {
	if e, ok := byCode[code]; ok {
		return e
	}
	return byCode[InternalError]
}
