# Every target works on a fresh clone, as root and as an ordinary user.
# "make" alone prints the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup test-setup build run test test-media test-fresh faults race soak chaos webhooks sockets streams lint bench eval generate contract fuzz-api verify clean

TOOLS := $(CURDIR)/.cache/tools
STATIC := $(TOOLS)/static
RUNS_FFMPEG := ./gpu/frames ./streaming/decode ./streaming/record $(addprefix ./handlers/,artifact intake intake/demo intake/ffmpeg intake/fixture intake/probe)
GOLANGCI_VERSION := v2.12.2
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
OASDIFF_VERSION := v1.33.0
OASDIFF := $(TOOLS)/oasdiff-$(OASDIFF_VERSION)
CONTRACT_LINT := handlers/httpapi/lint
FUZZER := .cache/fuzz/bin/schemathesis
FUZZ_SECONDS ?= 180
BENCH ?= .
EVENTS ?= 1000
KILLS ?= 20
CONNECTS ?= 10000
BENCHTIME ?= 1s
ROUNDS ?= 3
SEEDS ?= 100000
SECONDS ?= 600
FAULT_SECONDS ?= 30
STREAM_SECONDS ?= 150
SEED ?= 0

# Programs that setup fetched come first: it fetches one only when the machine's own fails.
export PATH := $(TOOLS)/bin:$(PATH)
# No version stamp: git refuses to read a clone of another user. -trimpath lets setup, build,
# tests and other clones share compiled packages.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false -trimpath)
# One cache for each clone: a shared one reports findings in the files of another clone.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint
GIT := git -c safe.directory='*'

##@ Every day

help: ## Print this list
	@awk -F ':.*## ' '/^##@ / { print (n++ ? "\n" : "") substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## Install what the service needs
	@.ci/setup

test-setup: setup ## Install what only the tests need (1.2 GB)
	@.ci/setup tests

build: setup ## Compile bin/vqa
	@echo "building bin/vqa"
	@mkdir -p bin
	@go build -o bin/vqa ./cmd/vqa
	@[ "$$(id -u)" != 0 ] || chown --reference=. bin bin/vqa

run: build ## Start the service: database, worker and API
	@exec bin/vqa serve --signin

test: test-setup ## Run every check that a change must pass
	go vet ./...
	@# Tests mostly wait: for workers, deadlines and other processes.
	go test -timeout 30m -parallel 3 ./...
	cd gpu/worker && npm test
	@$(MAKE) --no-print-directory test-media

lint: $(GOLANGCI) ## Run the linters
	$(GOLANGCI) run ./...

$(GOLANGCI):
	@echo "compiling golangci-lint $(GOLANGCI_VERSION), once, about 90 s"
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@

generate: test-setup ## Write generated code and documents
	go generate ./...

contract: $(OASDIFF) $(CONTRACT_LINT)/node_modules/.package-lock.json ## Lint the API contract; fail when it breaks clients of the last release
	@npm run --silent --prefix $(CONTRACT_LINT) lint
	@OASDIFF=$(OASDIFF) handlers/httpapi/released/prove
	@OASDIFF=$(OASDIFF) handlers/httpapi/released/check

$(OASDIFF):
	@echo "compiling oasdiff $(OASDIFF_VERSION), once, about 30 s"
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) go install github.com/oasdiff/oasdiff@$(OASDIFF_VERSION)
	@mv $(TOOLS)/oasdiff $@

$(CONTRACT_LINT)/node_modules/.package-lock.json: $(CONTRACT_LINT)/package-lock.json
	@npm ci --prefix $(CONTRACT_LINT) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
	@[ "$$(id -u)" != 0 ] || chown -R --reference=. $(CONTRACT_LINT)/node_modules

verify: generate contract $(GOLANGCI) ## Fail when generated files, stored events, the contract or lint are out of order
	@dirty="$$($(GIT) status --porcelain)"; [ -z "$$dirty" ] || { echo "make generate changed these files; commit them:"; echo "$$dirty"; exit 1; } >&2
	@unformatted="$$($(GIT) ls-files -z '*.go' | xargs -0r gofmt -l)"; [ -z "$$unformatted" ] || { echo "not formatted:"; echo "$$unformatted"; exit 1; } >&2
	go vet ./...
	$(GOLANGCI) run ./...

clean: ## Remove built and fetched files; data stays
	rm -rf bin .cache gpu/worker/{node_modules,models} $(CONTRACT_LINT)/node_modules handlers/httpapi/clients/typescript/{node_modules,dist} handlers/httpapi/reference/node_modules handlers/webhook/receivers/node_modules handlers/mcp/clients/node_modules domain/query/vocabulary/wordnet/node_modules

##@ Long suites

test-media: setup ## Test all that runs ffmpeg with the static build (part of make test)
	@if [ -e $(TOOLS)/bin/ffmpeg ]; then echo "test-media: nothing to do, the tests use the static build already"; \
	elif [ -x $(STATIC)/ffmpeg ] || go run ./handlers/intake/ffmpeg/fetch $(STATIC)/ffmpeg; then \
	  echo "testing with $(STATIC)/ffmpeg"; PATH="$(STATIC):$$PATH" go test -timeout 10m $(RUNS_FFMPEG); \
	else echo "test-media: skipped: the static build cannot be fetched"; fi

test-fresh: ## Build, serve and ask without ffmpeg, Postgres and rights (1 min, warm caches)
	@.ci/fresh

faults: test-setup ## Kill, stop and cut off nodes, databases and engines
	go test ./cmd/vqa -count 1 -timeout 30m -parallel 3 -faults

race: test-setup ## Run the Go tests under the race detector (up to 20 min)
	go test -race -timeout 20m ./...

soak: setup ## Simulate more histories of the command pipeline (5 min for SEEDS=100000)
	@mkdir -p .cache
	@go test -c -o .cache/simulation.test ./handlers/command
	@cd handlers/command && exec $(CURDIR)/.cache/simulation.test -test.run '^TestSimulation$$' -test.timeout 0 -sim.soak=$(SEEDS)

chaos: setup ## Break three nodes while customers use them (10 min; SECONDS=600 FAULT_SECONDS=30 SEED=0)
	@mkdir -p .cache/chaos
	@go test -c -o .cache/chaos.test ./cmd/vqa/internal/chaos
	@cd cmd/vqa/internal/chaos && exec $(CURDIR)/.cache/chaos.test -test.run '^TestChaos$$' -test.timeout 0 \
	  -chaos.run=$(SECONDS)s -chaos.fault=$(FAULT_SECONDS)s -chaos.seed=$(SEED) -chaos.report=$(CURDIR)/.cache/chaos

webhooks: test-setup ## Kill the service 20 times while it delivers 1,000 events (3 min; EVENTS=1000 KILLS=20)
	go test ./cmd/vqa -count 1 -run '^TestWebhooks$$' -timeout 30m -webhooks.events=$(EVENTS) -webhooks.kills=$(KILLS)

sockets: setup ## Connect and drop clients of live streams (3 min; CONNECTS=10000)
	go test ./streaming/signal -count 1 -run '^(TestConnectsAndDrops|TestSessionsComeAndGo)$$' -timeout 30m -signal.connects=$(CONNECTS) -signal.sessions=$(CONNECTS)

streams: test-setup ## Send live streams for minutes, and over a link with loss (4 min; STREAM_SECONDS=150)
	go test ./cmd/vqa -v -count 1 -run '^(TestLongStreams|TestChromiumThroughLoss)$$' -timeout 30m -stream.seconds=$(STREAM_SECONDS)

bench: setup ## Run the benchmarks (12 min; BENCH=regexp ROUNDS=3)
	@# Ratios: one iteration is a round of ceilings and measurements.
	go test ./handlers/command ./projections ./cmd/vqa -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(ROUNDS)x -timeout 30m
	@# The cost of single parts.
	go test $$(go list ./... | grep -v -e '/handlers/command$$' -e '/projections$$' -e '/cmd/vqa$$') -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -timeout 30m

eval: build ## Measure answers on labeled clips (CLIPS=folder with truth.json; EVAL=flags)
	@[ -n "$(CLIPS)" ] || { echo "usage: make eval CLIPS=FOLDER (a folder of clips with truth.json)" >&2; exit 2; }
	@exec bin/vqa eval --reliability .cache/reliability.png $(EVAL) "$(CLIPS)"

fuzz-api: build $(FUZZER) ## Fuzz every operation of the API by its contract (3 min; FUZZ_SECONDS=180)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) handlers/httpapi/fuzz/run

$(FUZZER): handlers/httpapi/fuzz/requirements.txt
	@command -v python3 >/dev/null || { echo "Python 3.10 or newer is missing: sudo apt-get install -y python3 python3-venv" >&2; exit 1; }
	@rm -rf .cache/fuzz && python3 -m venv .cache/fuzz
	@.cache/fuzz/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@touch $@
