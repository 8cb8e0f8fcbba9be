package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/shopspring/decimal"

	"vqa/cmd/vqa/internal/terminal"
)

// config holds every setting that an operator can change (docs/contract.md#settings). Each is an
// environment variable. The tags of a field are its documentation:
//
//   - env is the variable, envDefault its value when it is not set;
//   - group is the heading of docs/configuration.md under which this and the next fields stand;
//   - format is the unit or the form of the value, where the type does not say it;
//   - help is the meaning, in one or two sentences;
//   - secret hides the value in the output of `vqa config`.
//
//go:generate go run ./internal/settings/generate config.go ../../docs/configuration.md
type config struct {
	Addr      string `group:"Server" env:"VQA_ADDR" envDefault:"127.0.0.1:8080" format:"host:port" help:"Address on which the server listens."`
	PublicURL string `env:"VQA_PUBLIC_URL" format:"http or https URL" help:"Base URL under which callers reach the server. When empty, it is made from VQA_ADDR."`
	DataDir   string `env:"VQA_DATA_DIR" envDefault:".vqa" format:"path" help:"Folder of the embedded database, the local objects and the secret keys of this installation."`

	DatabaseURL      string        `group:"Database and objects" env:"VQA_DATABASE_URL" secret:"true" format:"postgres:// URL" help:"PostgreSQL 14 or newer, with the owner of the schema as the user. When empty, the embedded server runs."`
	PostgresBin      string        `env:"VQA_POSTGRES_BIN" format:"path" help:"Folder of the programs for the embedded server. When empty, installed programs are used, or else a pinned archive is downloaded."`
	LogWriterTimeout time.Duration `env:"VQA_LOG_WRITER_TIMEOUT" envDefault:"1m" help:"How long an open transaction with new events may block the readers of the log. After that, the service ends its session if it may; 0 means never."`
	BlobURL          string        `env:"VQA_BLOB_URL" format:"file:// or s3:// URL" help:"Object store of videos and pictures. When empty, objects are stored in VQA_DATA_DIR."`

	FFmpeg string `group:"Media and inference" env:"VQA_FFMPEG" format:"path" help:"The ffmpeg program, 5.1 or newer. When empty, the build that make setup downloaded is used, or else ffmpeg from PATH."`

	InferenceURL     []string `env:"VQA_INFERENCE_URL" format:"http(s):// or grpc(s):// URLs, comma-separated" help:"Open Inference Protocol v2 servers with the model detect, all with the same weights. When empty, the embedded worker runs."`
	CalibrationFile  string   `env:"VQA_CALIBRATION_FILE" format:"path of a JSON file" help:"Measured calibrations for the models of these servers. Answers of a model without a calibration have a confidence of at most 0.69."`
	InferenceThreads int      `env:"VQA_INFERENCE_THREADS" envDefault:"0" help:"Threads of the embedded worker; 0 means one per CPU core."`
	AnalysisSlots    int      `env:"VQA_ANALYSIS_SLOTS" envDefault:"0" help:"Analyses that this node runs at the same time; 0 means one more than it has CPU cores."`
	WorkerDir        string   `env:"VQA_WORKER_DIR" format:"path" help:"Folder of the embedded worker's program. When empty, it is searched beside the binary."`
	ReferenceDir     string   `env:"VQA_REFERENCE_DIR" format:"path" help:"Folder of the program that renders the API reference at /docs. When empty, it is searched beside the binary."`

	InferenceTimeout  time.Duration `env:"VQA_INFERENCE_TIMEOUT" envDefault:"1m" help:"Time limit of one request to an engine. For the embedded worker it is processor time of each thread, and ten times as long by the clock; one that exceeds it is restarted."`
	InferencePatience time.Duration `env:"VQA_INFERENCE_PATIENCE" envDefault:"2m" help:"How long an attempt at an analysis waits for an engine that does not answer. Then the analysis pauses and is attempted again. After half of this time, a platform incident is opened."`

	LLMURL     string        `group:"Language models" env:"VQA_LLM_URL" format:"http or https URL" help:"Base URL of a server with the OpenAI chat completions API, for example http://host:8000/v1. Its model compiles prompts and writes narratives. When empty, rules do both."`
	LLMModel   string        `env:"VQA_LLM_MODEL" help:"Name of the model on that server."`
	LLMAPIKey  string        `env:"VQA_LLM_API_KEY" secret:"true" help:"API key for that server."`
	LLMTimeout time.Duration `env:"VQA_LLM_TIMEOUT" envDefault:"1s" help:"How long the creation of an analysis waits for the model to compile the prompt. After that, rules compile it."`
	VLMURL     string        `env:"VQA_VLM_URL" format:"http or https URL" help:"Base URL of a server with the same API whose model reads images. It gets up to 8 frames of a video when the detector cannot answer. When empty, there are no second opinions."`
	VLMModel   string        `env:"VQA_VLM_MODEL" help:"Name of the model on that server."`
	VLMAPIKey  string        `env:"VQA_VLM_API_KEY" secret:"true" help:"API key for that server."`

	Artifacts bool `group:"Artifacts and demos" env:"VQA_ARTIFACTS" envDefault:"true" help:"Whether each answer gets an annotated video and a contact sheet. They take about 0.2 s of one CPU core per second of 720p video."`
	Demo      bool `env:"VQA_DEMO" envDefault:"true" help:"Whether three demo videos with answered questions are listed at /v1/demo-videos."`

	EgressAllow  []string `group:"Outbound requests" env:"VQA_EGRESS_ALLOW" format:"host:port, comma-separated" help:"Targets, matched exactly, that customers may name for imports and webhooks although they are not on the public internet. Addresses in other settings, such as those of witnesses, need not be here."`
	EgressCAFile string   `env:"VQA_EGRESS_CA_FILE" format:"path of a PEM file" help:"Certificate authorities that are trusted for these targets, and for the addresses in other settings."`

	WebhookRetries []time.Duration `group:"Webhooks" env:"VQA_WEBHOOK_RETRIES" envDefault:"1m,5m,30m,2h,8h,24h" format:"durations, comma-separated" help:"Pauses between the attempts of a delivery: the first is the pause after the first attempt. Each varies by up to 20%. After the last attempt the delivery is dead."`
	SMTPURL        string          `env:"VQA_SMTP_URL" secret:"true" format:"smtp:// or smtps:// URL" help:"Mail server, as smtp://user:password@host:587 or smtps://…, that sends notices about failing endpoints. When empty, notices are only logged."`
	SMTPFrom       string          `env:"VQA_SMTP_FROM" format:"email address" help:"Sender of these notices. Required with VQA_SMTP_URL."`

	StreamSlots       int           `group:"Live streams" env:"VQA_STREAM_SLOTS" envDefault:"8" format:"streams" help:"Live streams that this node runs at once; 0 leaves them to other nodes."`
	StreamQueueCap    int           `env:"VQA_STREAM_QUEUE_CAP" envDefault:"100" format:"streams" help:"Streams of the whole service that wait for a slot. More fail with capacity_exhausted."`
	StreamMaxSession  int64         `env:"VQA_STREAM_MAX_SESSION" envDefault:"3600" format:"seconds" help:"Longest session, from the start of the live state. It ends as timeout."`
	StreamWarnAt      int64         `env:"VQA_STREAM_WARN_AT" envDefault:"60" format:"seconds" help:"Remaining time at which the client gets a warning."`
	StreamJoinTimeout time.Duration `env:"VQA_STREAM_JOIN_TIMEOUT" envDefault:"60s" help:"Time to join a stream that has a slot. Otherwise it ends as canceled."`
	StreamICETimeout  time.Duration `env:"VQA_STREAM_ICE_TIMEOUT" envDefault:"30s" help:"Time from the offer to the connection. Otherwise the stream ends as ice_failed."`
	StreamFirstFrame  time.Duration `env:"VQA_STREAM_FIRST_FRAME" envDefault:"15s" help:"Time from the connection to the first frame. Otherwise the stream ends as media_timeout."`
	StreamGrace       time.Duration `env:"VQA_STREAM_GRACE" envDefault:"20s" help:"Time in which a client that lost its connection may come back. Then the stream ends as completed."`
	MediaAddr         string        `env:"VQA_MEDIA_ADDR" envDefault:"0.0.0.0:0" format:"IP:port" help:"Where media arrive, over UDP and TCP. Port 0 chooses a free port; behind a firewall or a NAT, set one that is forwarded."`
	MediaPublicIP     string        `env:"VQA_MEDIA_PUBLIC_IP" format:"IP address" help:"Address that clients send media to, where it is not that of this machine."`
	TURNAddr          string        `env:"VQA_TURN_ADDR" envDefault:"0.0.0.0:0" format:"IP:port, or off" help:"Where the embedded TURN relay listens, over UDP and TCP, for clients that cannot reach VQA_MEDIA_ADDR. With off, there is no relay."`
	NodeURL           string        `env:"VQA_NODE_URL" format:"http or https URL" help:"Where other nodes reach this one, for clients of streams that it runs. When empty, it is VQA_ADDR, with the first address of this machine instead of 0.0.0.0."`
	ICEServers        []string      `env:"VQA_ICE_SERVERS" secret:"true" format:"URLs, comma-separated" help:"Further STUN and TURN servers for clients. With turn::SECRET@host:port, each client gets credentials that expire, signed with a secret that the server shares (TURN REST). With turn:user:password@host:port, all clients of live keys get this password, and test mode gets none. STUN is stun:host:port. Characters such as / and @ are percent-encoded."`

	MinFreeSpace      terminal.ByteCount `group:"Storage" env:"VQA_MIN_FREE_SPACE" envDefault:"1GiB" help:"Free space on the disk of the object store below which uploads and fetches fail with capacity_exhausted."`
	StoragePerAccount terminal.ByteCount `env:"VQA_STORAGE_PER_ACCOUNT" envDefault:"100GiB" help:"Bytes of video that an account may store, open uploads included; 0 means no quota. Beyond it, requests fail with quota_exceeded."`
	StoragePerSandbox terminal.ByteCount `env:"VQA_STORAGE_PER_SANDBOX" envDefault:"1GiB" help:"The same quota for an account that has only a test key."`

	MaxVideoDuration      time.Duration `group:"Limits" env:"VQA_MAX_VIDEO_DURATION" envDefault:"4h" help:"Longest video. Longer ones fail with video_too_long."`
	MaxConcurrentAnalyses int           `env:"VQA_MAX_CONCURRENT_ANALYSES" envDefault:"10" format:"analyses per account" help:"Analyses of one account that are not finished. More fail with concurrency_limit_exceeded."`
	AnalysisQueueCap      int           `env:"VQA_ANALYSIS_QUEUE_CAP" envDefault:"1000" format:"analyses" help:"Queued analyses of the whole service. More fail with capacity_exhausted."`
	RateReads             int           `env:"VQA_RATE_READS" envDefault:"600" format:"requests per minute and API key" help:"Reads. More fail with rate_limit_exceeded, as with the other rates."`
	RateWrites            int           `env:"VQA_RATE_WRITES" envDefault:"300" format:"requests per minute and API key" help:"Writes, without the creation of analyses."`
	RateAnalysesCreate    int           `env:"VQA_RATE_ANALYSES_CREATE" envDefault:"60" format:"requests per minute and API key" help:"Requests that create analyses."`
	RateParse             int           `env:"VQA_RATE_PARSE" envDefault:"30" format:"requests per minute and client address" help:"Requests that parse a prompt."`
	QuotaSecondsPerMonth  int64         `env:"VQA_QUOTA_SECONDS_PER_MONTH" envDefault:"0" format:"seconds" help:"Video that an account may analyze in a calendar month (UTC); 0 means no quota. Beyond it, requests fail with quota_exceeded."`
	SandboxPerIP          int           `env:"VQA_SANDBOX_PER_IP" envDefault:"3" format:"sandboxes per client address and 24 hours" help:"New sandboxes. More fail with sandbox_limit_exceeded."`
	CapLoopback           bool          `env:"VQA_CAP_LOOPBACK" envDefault:"false" help:"Whether the limits of sandboxes and upgrades per address also apply to programs on this machine. Requests through a proxy or a tunnel are always limited."`
	UpgradePerIP          int           `env:"VQA_UPGRADE_PER_IP" envDefault:"3" format:"upgrades per client address and 24 hours" help:"Upgrades of a sandbox to an account. More fail with upgrade_limit_exceeded."`
	UpgradeGlobal         int           `env:"VQA_UPGRADE_GLOBAL" envDefault:"500" format:"upgrades per day (UTC)" help:"Upgrades of the whole service. More fail with upgrade_limit_exceeded."`

	PricePerSecondCents  decimal.Decimal `group:"Prices and credits" env:"VQA_PRICE_PER_SECOND_CENTS" envDefault:"0.5" format:"US cents, decimal" help:"Price of one credit-second."`
	SignupGrantSeconds   int64           `env:"VQA_SIGNUP_GRANT_SECONDS" envDefault:"6000" format:"credit-seconds" help:"Credits that an account gets when it is upgraded, and the account of the operator at its first use."`
	CardGrantSeconds     int64           `env:"VQA_CARD_GRANT_SECONDS" envDefault:"12000" format:"credit-seconds" help:"Credits that an account gets when it adds a card."`
	AutoRefillThresholdS int64           `env:"VQA_AUTO_REFILL_THRESHOLD_SECONDS" envDefault:"600" format:"credit-seconds" help:"Balance below which a refill is due."`
	AllowedPurchaseCents []int64         `env:"VQA_ALLOWED_PURCHASE_CENTS" envDefault:"1000,2500,5000,10000" format:"US cents, comma-separated" help:"Fixed amounts that can be bought."`
	CustomPurchase       bool            `env:"VQA_CUSTOM_PURCHASE_ENABLED" envDefault:"true" help:"Whether other amounts can be bought too."`
	MinPurchaseCents     int64           `env:"VQA_MIN_PURCHASE_CENTS" envDefault:"500" format:"US cents" help:"Smallest of these other amounts."`
	BatchDiscountPct     int             `env:"VQA_BATCH_DISCOUNT_PCT" envDefault:"50" format:"percent, 0 to 100" help:"Discount on every prompt of a batch after the first."`

	LedgerAnchorURL string        `group:"Ledger" env:"VQA_LEDGER_ANCHOR_URL" secret:"true" format:"file:// or s3:// URL" help:"Where the signed checkpoints of the ledger are written once. Use a place that the owner of the database cannot change. When empty, they are in the object store."`
	LedgerLock      time.Duration `env:"VQA_LEDGER_LOCK" envDefault:"0" help:"How long an S3 bucket with object lock must keep each checkpoint; 0 means that the default of the bucket applies."`
	LedgerKeys      []string      `env:"VQA_LEDGER_KEYS" format:"ed25519 public keys in base64, comma-separated" help:"Keys that may begin the log of the ledger, or replace a lost key. When empty, the first key that was written to the place of the checkpoints counts."`

	LedgerWitnesses     []string `env:"VQA_LEDGER_WITNESSES" format:"name+hash+key@URL, comma-separated" help:"Witnesses (C2SP tlog-witness) that cosign each checkpoint of the ledger: the verifier key, and the URL to which add-checkpoint is appended."`
	LedgerWitnessQuorum int      `env:"VQA_LEDGER_WITNESS_QUORUM" envDefault:"0" format:"witnesses" help:"Witnesses that must have cosigned a checkpoint before the next one is signed; 0 means that a witness that is away only raises an alarm."`

	SessionIssuer   string `group:"Sessions" env:"VQA_SESSION_ISSUER" format:"http or https URL" help:"Issuer of first-party sessions besides this service, compared exactly with the claim iss. When empty, only the sessions of /signin are accepted."`
	SessionAudience string `env:"VQA_SESSION_AUDIENCE" help:"Value that the claim aud of a session must contain. When empty, the claim is not checked."`
	SessionKeysURL  string `env:"VQA_SESSION_JWKS_URL" format:"https URL" help:"Public keys (JWKS) that sign the sessions."`

	OIDCIssuer       string `group:"Sign-in of people" env:"VQA_OIDC_ISSUER" format:"https URL" help:"OpenID provider where people sign in, exactly as in its claim iss. When empty, they sign in with the one-time link of vqa signin, or with a passkey. Its redirect address is VQA_PUBLIC_URL with the path /signin/callback."`
	OIDCClientID     string `env:"VQA_OIDC_CLIENT_ID" help:"Client id of this service at the provider. Required with VQA_OIDC_ISSUER."`
	OIDCClientSecret string `env:"VQA_OIDC_CLIENT_SECRET" secret:"true" help:"Client secret at the provider. It may be empty for a public client."`

	ForgeClientID       string `group:"Identity check of upgrades" env:"VQA_FORGE_CLIENT_ID" help:"Client id at the identity provider that an upgrade asks. When empty, upgrades need no identity; otherwise all four settings are required."`
	ForgeDeviceCodeURL  string `env:"VQA_FORGE_DEVICE_CODE_URL" format:"https URL" help:"Where the device flow of that provider starts. An http URL is accepted for a loopback address."`
	ForgeAccessTokenURL string `env:"VQA_FORGE_ACCESS_TOKEN_URL" format:"https URL" help:"Where the device flow is polled for a token."`
	ForgeUserURL        string `env:"VQA_FORGE_USER_URL" format:"https URL" help:"Returns the account of a bearer token, as a JSON object with a numeric id."`
	GAAnnouncedAt       string `group:"Legacy keys" env:"VQA_GA_ANNOUNCED_AT" format:"date, for example 2026-11-21" help:"When general availability was announced. Keys with the prefix pk_ end 12 months later. When empty, they do not end."`

	AgentOrigins []string `group:"Agents" env:"VQA_AGENT_ORIGINS" format:"origins, comma-separated, for example https://chat.example" help:"Other sites whose pages may call /mcp. When empty, only pages of this service and of programs on the user's own machine may. Programs that are not pages are not limited."`

	TrustedProxies []string `group:"Connections and logs" env:"VQA_TRUSTED_PROXIES" format:"IP addresses or CIDR blocks, comma-separated" help:"Proxies whose X-Forwarded-For header is believed."`
	MaxConnections int      `env:"VQA_MAX_CONNECTIONS_PER_ADDRESS" envDefault:"256" format:"connections" help:"Open connections from one client address (one IPv6 /64) to this node; 0 means no limit. VQA_TRUSTED_PROXIES are not limited."`
	LogLevel       string   `env:"VQA_LOG_LEVEL" envDefault:"info" format:"debug, info, warn or error" help:"Least severe messages that are logged."`
}

// loadConfig reads the configuration from the environment and checks it.
func loadConfig() (config, error) {
	c, err := env.ParseAs[config]()
	if err != nil {
		return c, valueError(err, os.Getenv)
	}
	if c.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return c, fmt.Errorf("configuration: VQA_DATA_DIR: %w", err)
	}
	if c.PublicURL == "" {
		c.PublicURL = "http://" + c.Addr
	}
	return c, c.check()
}

func (c config) check() error {
	if _, port, err := net.SplitHostPort(c.Addr); err != nil {
		return wrongValue("VQA_ADDR", c.Addr, "must be an address with a port, such as 127.0.0.1:8080")
	} else if _, err := new(net.Resolver).LookupPort(context.Background(), "tcp", port); err != nil {
		return wrongValue("VQA_ADDR", c.Addr, "must have a port of 0 to 65535, such as 127.0.0.1:8080")
	}
	if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return wrongValue("VQA_PUBLIC_URL", c.PublicURL, "must be an http or https URL")
	}
	for name, n := range map[string]int64{
		"VQA_MAX_CONCURRENT_ANALYSES": int64(c.MaxConcurrentAnalyses), "VQA_ANALYSIS_QUEUE_CAP": int64(c.AnalysisQueueCap),
		"VQA_RATE_READS": int64(c.RateReads), "VQA_RATE_WRITES": int64(c.RateWrites),
		"VQA_RATE_ANALYSES_CREATE": int64(c.RateAnalysesCreate), "VQA_RATE_PARSE": int64(c.RateParse),
		"VQA_UPGRADE_PER_IP": int64(c.UpgradePerIP), "VQA_UPGRADE_GLOBAL": int64(c.UpgradeGlobal),
		"VQA_SANDBOX_PER_IP":   int64(c.SandboxPerIP),
		"VQA_STREAM_QUEUE_CAP": int64(c.StreamQueueCap), "VQA_STREAM_MAX_SESSION": c.StreamMaxSession, "VQA_STREAM_WARN_AT": c.StreamWarnAt,
	} {
		if n <= 0 {
			return wrongValue(name, n, "must be greater than 0")
		}
	}
	for name, d := range map[string]time.Duration{
		"VQA_MAX_VIDEO_DURATION": c.MaxVideoDuration, "VQA_INFERENCE_TIMEOUT": c.InferenceTimeout,
		"VQA_INFERENCE_PATIENCE": c.InferencePatience, "VQA_LLM_TIMEOUT": c.LLMTimeout,
		"VQA_STREAM_JOIN_TIMEOUT": c.StreamJoinTimeout, "VQA_STREAM_ICE_TIMEOUT": c.StreamICETimeout,
		"VQA_STREAM_FIRST_FRAME": c.StreamFirstFrame, "VQA_STREAM_GRACE": c.StreamGrace,
	} {
		if d <= 0 {
			return wrongValue(name, d, "must be greater than 0")
		}
	}
	for _, d := range c.WebhookRetries {
		if d <= 0 {
			return wrongValue("VQA_WEBHOOK_RETRIES", d, "must have durations greater than 0")
		}
	}
	if _, err := c.sender(); err != nil {
		return fmt.Errorf("configuration: VQA_SMTP_URL and VQA_SMTP_FROM: %w", err)
	}
	if c.QuotaSecondsPerMonth < 0 {
		return wrongValue("VQA_QUOTA_SECONDS_PER_MONTH", c.QuotaSecondsPerMonth, "must not be negative")
	}
	if c.LogWriterTimeout != 0 && c.LogWriterTimeout < time.Second {
		return wrongValue("VQA_LOG_WRITER_TIMEOUT", c.LogWriterTimeout, "must be 0, or at least 1s")
	}
	if c.MaxConnections < 0 {
		return wrongValue("VQA_MAX_CONNECTIONS_PER_ADDRESS", c.MaxConnections, "must not be negative")
	}
	if c.SignupGrantSeconds < 0 {
		return wrongValue("VQA_SIGNUP_GRANT_SECONDS", c.SignupGrantSeconds, "must not be negative")
	}
	if c.BatchDiscountPct < 0 || c.BatchDiscountPct > 100 {
		return wrongValue("VQA_BATCH_DISCOUNT_PCT", c.BatchDiscountPct, "must be 0 to 100")
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, strings.ToLower(c.LogLevel)) {
		return wrongValue("VQA_LOG_LEVEL", c.LogLevel, "must be debug, info, warn or error")
	}
	for _, check := range []func() error{c.checkURLs, c.checkLedger, c.checkSessions, c.checkOIDC, c.checkForge, c.checkLanguage} {
		if err := check(); err != nil {
			return err
		}
	}
	if _, err := c.legacyKeys(); err != nil {
		return err
	}
	if _, err := c.mediaOptions(nil); err != nil {
		return err
	}
	_, err := c.proxies()
	return err
}

// proxies returns the networks whose X-Forwarded-For headers are believed.
func (c config) proxies() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, s := range c.TrustedProxies {
		if addr, err := netip.ParseAddr(s); err == nil {
			all = append(all, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, wrongValue("VQA_TRUSTED_PROXIES", s, "must be addresses or CIDR blocks, such as 10.0.0.0/8")
		}
		all = append(all, p)
	}
	return all, nil
}
