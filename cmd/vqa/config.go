package main

import (
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

// config is everything that an operator may set, all by environment variables
// (open-points.md, "Values"). `vqa config` prints it.
type config struct {
	Addr      string `env:"VQA_ADDR" envDefault:"127.0.0.1:8080" help:"address to listen on"`
	PublicURL string `env:"VQA_PUBLIC_URL" help:"base URL that callers use; from the address when empty"`
	DataDir   string `env:"VQA_DATA_DIR" envDefault:".vqa" help:"folder of the embedded database and local objects"`

	DatabaseURL string `env:"VQA_DATABASE_URL" secret:"true" help:"Postgres; embedded when empty"`
	PostgresBin string `env:"VQA_POSTGRES_BIN" help:"folder of the embedded database's programs; found on this machine, or fetched, when empty"`
	BlobURL     string `env:"VQA_BLOB_URL" help:"object store (Go CDK blob URL); a folder under the data folder when empty"`

	FFmpeg string `env:"VQA_FFMPEG" help:"path of ffmpeg, 5.1 or newer; what setup fetched, else found in PATH, when empty"`

	InferenceURL     []string `env:"VQA_INFERENCE_URL" help:"Open Inference Protocol servers of one model, http(s):// or grpc(s)://; the embedded worker when empty"`
	CalibrationFile  string   `env:"VQA_CALIBRATION_FILE" help:"measured calibrations of the models of other inference servers (JSON, domain/answer ParseCalibrations); answers of a model without one are never surer than 0.69"`
	InferenceThreads int      `env:"VQA_INFERENCE_THREADS" envDefault:"0" help:"threads of the embedded worker; 0 for one per core"`
	AnalysisSlots    int      `env:"VQA_ANALYSIS_SLOTS" envDefault:"0" help:"analyses at once on this node; 0 for one more than its cores"`
	WorkerDir        string   `env:"VQA_WORKER_DIR" help:"folder of the embedded worker's program; found beside the binary when empty"`
	ReferenceDir     string   `env:"VQA_REFERENCE_DIR" help:"folder of what renders the contract at /docs; found beside the binary when empty"`

	InferenceTimeout  time.Duration `env:"VQA_INFERENCE_TIMEOUT" envDefault:"1m" help:"longest answer of an engine to one request; an embedded worker that takes longer is started anew"`
	InferencePatience time.Duration `env:"VQA_INFERENCE_PATIENCE" envDefault:"2m" help:"how long an analysis waits for an engine that is away before it fails; half of it is a platform incident"`

	LLMURL     string        `env:"VQA_LLM_URL" help:"base URL of a server of the OpenAI chat completions protocol (http://host:8000/v1) whose model compiles prompts and writes narratives; rules do when empty"`
	LLMModel   string        `env:"VQA_LLM_MODEL" help:"name of that model at its server"`
	LLMAPIKey  string        `env:"VQA_LLM_API_KEY" secret:"true" help:"key for that server"`
	LLMTimeout time.Duration `env:"VQA_LLM_TIMEOUT" envDefault:"1s" help:"longest wait for the compiling of a prompt, a part of what a create takes; then rules compile it"`
	VLMURL     string        `env:"VQA_VLM_URL" help:"base URL of such a server whose model looks at pictures: up to 8 frames of a video are sent there where the detector cannot tell; nobody is asked when empty"`
	VLMModel   string        `env:"VQA_VLM_MODEL" help:"name of that model at its server"`
	VLMAPIKey  string        `env:"VQA_VLM_API_KEY" secret:"true" help:"key for that server"`

	Artifacts bool `env:"VQA_ARTIFACTS" envDefault:"true" help:"whether an annotated video and a contact sheet are made of each answer"`
	Demo      bool `env:"VQA_DEMO" envDefault:"true" help:"whether demo videos are made and shown at /v1/demo-videos"`

	EgressAllow  []string `env:"VQA_EGRESS_ALLOW" help:"extra host:port targets that may be fetched from, exact"`
	EgressCAFile string   `env:"VQA_EGRESS_CA_FILE" help:"certificate authorities of the extra targets"`

	MinFreeSpace      terminal.ByteCount `env:"VQA_MIN_FREE_SPACE" envDefault:"1GiB" help:"free space of the object store's disk below which uploads and fetches are refused"`
	StoragePerAccount terminal.ByteCount `env:"VQA_STORAGE_PER_ACCOUNT" envDefault:"100GiB" help:"bytes of video that an account may keep; 0 for no quota"`
	StoragePerSandbox terminal.ByteCount `env:"VQA_STORAGE_PER_SANDBOX" envDefault:"1GiB" help:"bytes of video that an account with only a test key may keep; 0 for no quota"`

	MaxVideoDuration      time.Duration `env:"VQA_MAX_VIDEO_DURATION" envDefault:"4h" help:"longest video of the plan"`
	MaxConcurrentAnalyses int           `env:"VQA_MAX_CONCURRENT_ANALYSES" envDefault:"10" help:"unfinished analyses per account"`
	AnalysisQueueCap      int           `env:"VQA_ANALYSIS_QUEUE_CAP" envDefault:"1000" help:"queued analyses of the whole service"`
	RateReads             int           `env:"VQA_RATE_READS" envDefault:"600" help:"reads per minute and API key"`
	RateWrites            int           `env:"VQA_RATE_WRITES" envDefault:"300" help:"writes per minute and API key, new analyses apart"`
	RateAnalysesCreate    int           `env:"VQA_RATE_ANALYSES_CREATE" envDefault:"60" help:"requests for new analyses per minute and API key"`
	RateParse             int           `env:"VQA_RATE_PARSE" envDefault:"30" help:"parsed prompts per minute and address"`
	QuotaSecondsPerMonth  int64         `env:"VQA_QUOTA_SECONDS_PER_MONTH" envDefault:"0" help:"seconds an account may process in a calendar month; 0 for no quota"`
	SandboxPerIP          int           `env:"VQA_SANDBOX_PER_IP" envDefault:"3" help:"sandboxes per address in 24 hours"`
	CapLoopback           bool          `env:"VQA_CAP_LOOPBACK" envDefault:"false" help:"whether the limits of sandboxes and upgrades per address also bind programs of this machine"`
	UpgradePerIP          int           `env:"VQA_UPGRADE_PER_IP" envDefault:"3" help:"upgrades per address in 24 hours"`
	UpgradeGlobal         int           `env:"VQA_UPGRADE_GLOBAL" envDefault:"500" help:"upgrades of the whole service on one day in UTC"`

	PricePerSecondCents  decimal.Decimal `env:"VQA_PRICE_PER_SECOND_CENTS" envDefault:"0.5" help:"price of a credit-second in US cents"`
	SignupGrantSeconds   int64           `env:"VQA_SIGNUP_GRANT_SECONDS" envDefault:"6000" help:"grant of an upgraded account"`
	CardGrantSeconds     int64           `env:"VQA_CARD_GRANT_SECONDS" envDefault:"12000" help:"grant for adding a card"`
	AutoRefillThresholdS int64           `env:"VQA_AUTO_REFILL_THRESHOLD_SECONDS" envDefault:"600" help:"balance below which a refill is due"`
	AllowedPurchaseCents []int64         `env:"VQA_ALLOWED_PURCHASE_CENTS" envDefault:"1000,2500,5000,10000" help:"fixed purchases in US cents"`
	CustomPurchase       bool            `env:"VQA_CUSTOM_PURCHASE_ENABLED" envDefault:"true" help:"whether other amounts may be bought"`
	MinPurchaseCents     int64           `env:"VQA_MIN_PURCHASE_CENTS" envDefault:"500" help:"smallest custom purchase in US cents"`
	BatchDiscountPct     int             `env:"VQA_BATCH_DISCOUNT_PCT" envDefault:"50" help:"discount on each later prompt of a batch"`

	SessionIssuer   string `env:"VQA_SESSION_ISSUER" help:"issuer of first-party sessions (claim iss, exact); none are accepted when empty"`
	SessionAudience string `env:"VQA_SESSION_AUDIENCE" help:"claim aud that sessions must have; not looked at when empty"`
	SessionKeysURL  string `env:"VQA_SESSION_JWKS_URL" help:"https URL of the public keys (JWKS) that sessions are signed with"`

	ForgeClientID       string `env:"VQA_FORGE_CLIENT_ID" help:"client id at the provider of identities that upgrades ask for; none is asked for when empty"`
	ForgeDeviceCodeURL  string `env:"VQA_FORGE_DEVICE_CODE_URL" help:"where the device flow of that provider begins"`
	ForgeAccessTokenURL string `env:"VQA_FORGE_ACCESS_TOKEN_URL" help:"where its device flow is polled for a token"`
	ForgeUserURL        string `env:"VQA_FORGE_USER_URL" help:"where a token is exchanged for its account, a JSON object with a numeric id"`
	GAAnnouncedAt       string `env:"VQA_GA_ANNOUNCED_AT" help:"date on which general availability was announced: legacy keys end 12 months later; no end when empty"`

	TrustedProxies []string `env:"VQA_TRUSTED_PROXIES" help:"addresses or CIDR blocks whose X-Forwarded-For counts"`
	MaxConnections int      `env:"VQA_MAX_CONNECTIONS_PER_ADDRESS" envDefault:"256" help:"open connections of one client address (an IPv6 /64) on this node, except of VQA_TRUSTED_PROXIES; 0 for no limit"`
	LogLevel       string   `env:"VQA_LOG_LEVEL" envDefault:"info" help:"debug, info, warn or error"`
}

// loadConfig reads the environment and checks what it says.
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
	} else if _, err := net.LookupPort("tcp", port); err != nil {
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
		"VQA_SANDBOX_PER_IP": int64(c.SandboxPerIP),
	} {
		if n <= 0 {
			return wrongValue(name, n, "must be greater than 0")
		}
	}
	for name, d := range map[string]time.Duration{
		"VQA_MAX_VIDEO_DURATION": c.MaxVideoDuration, "VQA_INFERENCE_TIMEOUT": c.InferenceTimeout,
		"VQA_INFERENCE_PATIENCE": c.InferencePatience, "VQA_LLM_TIMEOUT": c.LLMTimeout,
	} {
		if d <= 0 {
			return wrongValue(name, d, "must be greater than 0")
		}
	}
	if c.QuotaSecondsPerMonth < 0 {
		return wrongValue("VQA_QUOTA_SECONDS_PER_MONTH", c.QuotaSecondsPerMonth, "must not be negative")
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
	if err := c.checkURLs(); err != nil {
		return err
	}
	if err := c.checkSessions(); err != nil {
		return err
	}
	if err := c.checkForge(); err != nil {
		return err
	}
	if err := c.checkLanguage(); err != nil {
		return err
	}
	if _, err := c.legacyKeys(); err != nil {
		return err
	}
	_, err := c.proxies()
	return err
}

// proxies are the networks whose forwarding headers are believed.
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
