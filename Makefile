# Every target works on a fresh clone, as root and as an ordinary user.
# "make" alone prints what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup build run test test-media test-fresh words race soak lint bench eval generate contract fuzz-api verify clean

TOOLS := $(CURDIR)/.cache/tools
STATIC := $(TOOLS)/static
RUNS_FFMPEG := ./gpu/frames $(addprefix ./handlers/,artifact intake intake/demo intake/ffmpeg intake/fixture intake/probe)
GOLANGCI_VERSION := v2.12.2
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
OASDIFF_VERSION := v1.33.0
OASDIFF := $(TOOLS)/oasdiff-$(OASDIFF_VERSION)
CONTRACT_LINT := handlers/httpapi/lint
FUZZER := .cache/fuzz/bin/schemathesis
FUZZ_SECONDS ?= 180
BENCH ?= .
BENCHTIME ?= 1s
ROUNDS ?= 3
SEEDS ?= 100000

# What setup fetched stands before what the machine has: it was fetched for a reason.
export PATH := $(TOOLS)/bin:$(PATH)
# No stamp from git: it refuses to read a clone that belongs to another user. Without the
# path of the clone, setup, build, tests and other clones share what was compiled.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false -trimpath)
# A cache of this clone: a shared one reports the findings of another clone's files.
export GOLANGCI_LINT_CACHE := $(CURDIR)/.cache/golangci-lint
GIT := git -c safe.directory='*'

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## Install what this machine lacks; quick when it lacks nothing
	@.ci/setup

build: setup ## Compile bin/vqa
	@echo "building bin/vqa"
	@mkdir -p bin
	@go build -o bin/vqa ./cmd/vqa
	@[ "$$(id -u)" != 0 ] || chown --reference=. bin bin/vqa

run: build ## Start the service: database, worker and API in one
	@exec bin/vqa serve

test: setup ## Run every check that a change must pass
	go vet ./...
	@# Most of the time is waiting: for workers, deadlines, other processes.
	go test -timeout 20m -parallel 3 ./...
	cd gpu/worker && npm test
	@$(MAKE) --no-print-directory test-media

test-media: setup ## Run the tests of what runs ffmpeg with the static build, where the machine's own is in use
	@if [ -e $(TOOLS)/bin/ffmpeg ]; then echo "test-media: the static build is in use already"; \
	elif [ -x $(STATIC)/ffmpeg ] || go run ./handlers/intake/ffmpeg/fetch $(STATIC)/ffmpeg; then \
	  echo "testing with $(STATIC)/ffmpeg"; PATH="$(STATIC):$$PATH" go test -timeout 10m $(RUNS_FFMPEG); \
	else echo "test-media: skipped: the static build cannot be fetched"; fi

words: ## Draw comments and texts of the project for a reader, and fail when too many lines match a suspect pattern of docs/style.md
	@go run ./docs/words

test-fresh: ## Build, serve and ask on a machine without ffmpeg and Postgres: in a namespace that hides them
	@.ci/fresh

race: setup ## Run the Go tests under the race detector
	go test -race -timeout 20m ./...

soak: setup ## Simulate SEEDS=100000 more seeds of the command pipeline, from a random base
	@mkdir -p .cache
	@go test -c -o .cache/simulation.test ./handlers/command
	@cd handlers/command && exec $(CURDIR)/.cache/simulation.test -test.run '^TestSimulation$$' -test.timeout 0 -sim.soak=$(SEEDS)

lint: $(GOLANGCI) ## Run the linters of .golangci.yml
	$(GOLANGCI) run ./...

$(GOLANGCI):
	@echo "compiling golangci-lint $(GOLANGCI_VERSION), once, about 90 s"
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv $(TOOLS)/golangci-lint $@

bench: setup ## Run the benchmarks, about 12 minutes (BENCH=regexp ROUNDS=3)
	@# Ratios: one iteration is a round of ceilings and measurements in turns.
	go test ./handlers/command ./projections ./cmd/vqa -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(ROUNDS)x -timeout 30m
	@# Costs of single parts.
	go test $$(go list ./... | grep -v -e '/handlers/command$$' -e '/projections$$' -e '/cmd/vqa$$') -p 1 -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -timeout 30m

eval: build ## Ask the questions of CLIPS=folder/with/truth.json, print a table, draw a reliability diagram (EVAL="--min-right 0.95 --min-right-no 0.95")
	@[ -n "$(CLIPS)" ] || { echo "usage: make eval CLIPS=FOLDER (a folder of clips with truth.json)" >&2; exit 2; }
	@exec bin/vqa eval --reliability .cache/reliability.png $(EVAL) "$(CLIPS)"

generate: setup ## Write generated code and docs anew
	go generate ./...

contract: $(OASDIFF) $(CONTRACT_LINT)/node_modules/.package-lock.json ## Lint the API's contract, and fail when it breaks clients of the last release
	@npm run --silent --prefix $(CONTRACT_LINT) lint
	@OASDIFF=$(OASDIFF) handlers/httpapi/released/prove
	@OASDIFF=$(OASDIFF) handlers/httpapi/released/check

fuzz-api: build $(FUZZER) ## Fuzz every operation of the API by its contract (FUZZ_SECONDS=180)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) handlers/httpapi/fuzz/run

$(FUZZER): handlers/httpapi/fuzz/requirements.txt
	@command -v python3 >/dev/null || { echo "Python 3.10 or newer is missing: sudo apt-get install -y python3 python3-venv" >&2; exit 1; }
	@rm -rf .cache/fuzz && python3 -m venv .cache/fuzz
	@.cache/fuzz/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@touch $@

$(OASDIFF):
	@echo "compiling oasdiff $(OASDIFF_VERSION), once, about 30 s"
	@mkdir -p $(TOOLS)
	@GOBIN=$(TOOLS) go install github.com/oasdiff/oasdiff@$(OASDIFF_VERSION)
	@mv $(TOOLS)/oasdiff $@

$(CONTRACT_LINT)/node_modules/.package-lock.json: $(CONTRACT_LINT)/package-lock.json
	@npm ci --prefix $(CONTRACT_LINT) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
	@[ "$$(id -u)" != 0 ] || chown -R --reference=. $(CONTRACT_LINT)/node_modules

verify: generate contract $(GOLANGCI) ## Fail when stored events changed shape, the contract breaks, or generated files, formatting or lint are not in order
	@dirty="$$($(GIT) status --porcelain)"; [ -z "$$dirty" ] || { echo "the tree is not clean after make generate:"; echo "$$dirty"; exit 1; } >&2
	@unformatted="$$($(GIT) ls-files -z '*.go' | xargs -0r gofmt -l)"; [ -z "$$unformatted" ] || { echo "not formatted:"; echo "$$unformatted"; exit 1; } >&2
	go vet ./...
	$(GOLANGCI) run ./...

clean: ## Remove what was built and fetched; data stays
	rm -rf bin .cache gpu/worker/node_modules $(CONTRACT_LINT)/node_modules handlers/httpapi/clients/typescript/{node_modules,dist} handlers/httpapi/reference/node_modules
