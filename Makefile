# Two targets matter: `make run` and `make test`. Both install what is missing and say so.
# Written for the make 3.81 that macOS has.

MAKEFLAGS += --no-print-directory
FOLDER ?= $(CURDIR)
TARGET := $(or $(CARGO_TARGET_DIR),target)
STEP := scripts/step.sh
NPM := npm --no-audit --no-fund --no-update-notifier
PAGE := ui/dist/index.html
PAGE_SOURCES := $(shell find ui -type f -not -path 'ui/node_modules/*' -not -path 'ui/dist/*' 2>/dev/null)
DENY_VERSION := 0.20.2
DENY := $(TARGET)/tools/bin/cargo-deny
MDBOOK_VERSION := 0.5.4
MDBOOK := $(TARGET)/tools/bin/mdbook
CYCLONEDX_VERSION := 0.5.9
CYCLONEDX := $(TARGET)/tools/bin/cargo-cyclonedx
LOCALISE ?= ../shared/localise
ORIENT ?= ../shared/orient
CCUSAGE_VERSION := 20.0.24
CCUSAGE := $(TARGET)/tools/ccusage/node_modules/.bin/ccusage
FUZZ_VERSION := 0.13.2
FUZZ := $(TARGET)/tools/bin/cargo-fuzz
# Targets that need more than `make test` installs or builds; they are linted with the rest.
PEER_TESTS := --test real
PEERS ?= ../shared/peers
VERSIONS ?= newest
BENCHES := --bench exploration --bench history --bench fan_out --bench local_model --bench opening

# The Rust and page tests mostly wait, so they run in parallel; make prints each one's output when it ends, if it can.
WHOLE := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.PHONY: help run agent test test-peers test-agents check-formats generate pictures walk docs app bench bench-answers bench-orient bench-exploration bench-history bench-local-model bench-fan-out bench-opening bench-page fuzz check check-macos lint ui fmt deny audit clean check-format install-tests build-tests test-ui test-rust test-page test-conformance

help: ## Explain the targets
	@echo "OpenAgents Desktop. Needs Rust and Node 20.19; everything else is installed when a target needs it."
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  make run FOLDER=~/code/thing opens the app on another folder."

run: ## Build the app and open it on this folder (without a display: serve the page)
	@scripts/run.sh "$(FOLDER)"

agent: ## Ask a small local model: make agent PROMPT="Why is the sky blue?" [ARGS=--json] [MODEL=file.gguf]
	@MODEL="$(MODEL)" scripts/agent.sh "$(or $(PROMPT),What is the capital of France?)" $(ARGS)

# Clippy compiles and lints in one pass; a separate lint would compile all dependencies a second time.
test test-peers test-agents check-formats build-tests test-rust test-page test-conformance: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
test test-peers test-agents check-formats build-tests test-rust test-page test-conformance: export CLIPPY_ARGS := -Dwarnings

test: install-tests ## Run every test
	@$(STEP) "Format" $(MAKE) check-format
	@$(STEP) "Page: build" $(MAKE) ui
	@$(STEP) "Page: types, lint, unit tests" $(MAKE) test-ui
	@$(STEP) "Rust: build, with every lint" $(MAKE) build-tests
	@$(STEP) "Rust, with the window and the package; page in a browser" $(MAKE) -j2 $(WHOLE) test-rust test-page
	@$(STEP) "ACP: third-party clients" $(MAKE) test-conformance
	@printf '\nEvery test passed.\n'

test-peers: install-tests ui ## Try a real llama-server as the model (builds it: seven minutes the first time)
	@scripts/llama-server.sh tests
	cargo build --workspace --locked
	cargo test --workspace --locked --test real llama_server

# The model server is not part of this repository.
test-agents: install-tests ui ## Try six real agents, installed with npm (2.6 GB the first time); TASKS=all hands over all 20 tasks
	@if [ -d "$(PEERS)" ]; then scripts/peers.sh prepare "$(PEERS)" && scripts/peers.sh run "$(PEERS)"; \
	else echo "No model server at $(PEERS): set PEERS to the folder with scripted-model." >&2; exit 1; fi

# The newest versions change without a change here; VERSIONS=pinned takes those that the model server names.
check-formats: ui ## Drive six real agents and compare their sessions with what we show (newest versions, or VERSIONS=pinned)
	@scripts/install.sh formats
	@if [ -d "$(PEERS)" ]; then VERSIONS=$(VERSIONS) scripts/peers.sh prepare "$(PEERS)" && \
		VERSIONS=$(VERSIONS) scripts/peers.sh formats "$(PEERS)"; \
	else echo "No model server at $(PEERS): set PEERS to the folder with scripted-model." >&2; exit 1; fi

# Tests write the generated files when GENERATE is set, and compare them otherwise.
generate: ui ## Write the generated files again: the page's types, the references of the protocol and the command line
	GENERATE=1 cargo test --locked --quiet -p openagents-cli -p openagents-wire generated_
	@cd ui && npm exec --offline -- prettier --config .prettierrc.json --log-level warn --write src/connection/wire.ts ../docs/reference/protocol.md

pictures: $(PAGE) ## Take the pictures of the README again: PROJECTS names a folder with the sources of reqwest and tokio
	@scripts/install.sh tests
	cargo build --locked -p openagents-cli
	@node scripts/pictures.mjs "$(PROJECTS)"

walk: ui ## Take the pictures of the guide to agents again, with the real Claude Code and a scripted model
	@scripts/install.sh tests
	cargo build --workspace --locked
	@if [ -d "$(PEERS)" ]; then node scripts/walk.mjs "$(PEERS)"; \
	else echo "No model server at $(PEERS): set PEERS to the folder with scripted-model." >&2; exit 1; fi

docs: $(MDBOOK) ## Build the documentation as a book, in target/docs
	@$(MDBOOK) build docs --dest-dir $(abspath $(TARGET))/docs

app: ui node_modules/.installed $(CYCLONEDX) ## Bundle the app: .app on macOS, .deb on Debian
	@scripts/install.sh desktop
	cargo build --release --locked -p openagents-llama-helper
	@scripts/apple-helper.sh release
	@scripts/bundle.sh release
	npm exec --offline -- tauri build --ci --config src-tauri/bundle.conf.json $$(scripts/bundle.sh apple) --bundles $(if $(filter Darwin,$(shell uname -s)),app,deb) -- --locked --package openagents-desktop
	@scripts/sbom.sh $(CYCLONEDX) $(TARGET)/release/bundle/sbom
	@find $(TARGET)/release/bundle -maxdepth 2 \( -name '*.app' -o -name '*.deb' \) -exec echo "Bundled: {}" \;

bench: bench-exploration bench-answers bench-history bench-local-model bench-fan-out bench-opening bench-page ## Measure speed and memory, next to a peer

bench-exploration: ui ## Measure the exploration on a large synthetic tree
	@scripts/install.sh tests
	cargo build --release --locked -p openagents-cli
	OPENAGENTS_BIN=$(abspath $(TARGET))/release/openagents cargo bench --locked -p openagents-e2e --bench exploration

# Ten gigabytes of transcripts are made once, below the target folder.
bench-history: ui $(CCUSAGE) ## Measure other agents' sessions, 10 GB of them, next to ripgrep and ccusage
	@scripts/install.sh tests
	cargo build --release --locked -p openagents-cli
	OPENAGENTS_BIN=$(abspath $(TARGET))/release/openagents CCUSAGE_BIN=$(abspath $(CCUSAGE)) \
		cargo bench --locked -p openagents-e2e --bench history

# The questions are not part of this repository; without them there is nothing to compare with.
bench-answers: ui ## Measure whether questions find the right places, next to ripgrep and BM25
	@scripts/install.sh tests
	cargo build --release --locked -p openagents-cli
	@if [ -d "$(LOCALISE)" ]; then scripts/bench_answers.py $(TARGET)/release/openagents "$(LOCALISE)" $(TARGET)/answers; \
	else echo "No measure at $(LOCALISE): set LOCALISE to the folder with fetch.py and cases.tsv."; fi

# Neither are the facts about projects that newcomers ask for.
bench-orient: ui ## Measure whether newcomers' questions about a project are answered
	cargo build --release --locked -p openagents-cli
	@if [ -d "$(ORIENT)" ]; then mkdir -p $(TARGET)/orient && python3 "$(ORIENT)/fetch.py" $(abspath $(TARGET))/orient/trees && \
		python3 "$(ORIENT)/predict_orient.py" $(abspath $(TARGET))/release/openagents $(abspath $(TARGET))/orient/trees "$(ORIENT)/facts.tsv" $(TARGET)/orient/answers.jsonl && \
		python3 "$(ORIENT)/score_orient.py" "$(ORIENT)/facts.tsv" $(TARGET)/orient/answers.jsonl; \
	else echo "No measure at $(ORIENT): set ORIENT to the folder with fetch.py and facts.tsv."; fi

# Built for this machine's own instruction set, like the peer, and in a separate folder, because the flags rebuild everything.
bench-local-model: ui ## Measure the local model next to llama-server on the same file
	@scripts/install.sh tests
	@scripts/test-models.sh
	@scripts/llama-server.sh
	cargo build --release --locked -p openagents-cli
	CARGO_TARGET_DIR=$(TARGET)/native RUSTFLAGS="-Ctarget-cpu=$(shell scripts/bench-cpu.sh)" \
		cargo build --release --locked -p openagents-llama-helper
	OPENAGENTS_BIN=$(abspath $(TARGET))/release/openagents \
		OPENAGENTS_LLAMA_HELPER=$(abspath $(TARGET))/native/release/openagents-llama \
		OPENAGENTS_TEST_MODELS=$(abspath $(TARGET))/test-models \
		LLAMA_SERVER=$(abspath $(TARGET))/llama-server/llama-server \
		cargo bench --locked -p openagents-e2e --bench local_model

bench-fan-out: ui ## Measure how fast updates reach 200 clients, next to a plain broadcast server
	cargo bench --locked -p openagents-e2e --bench fan_out

bench-opening: ui ## Measure how long opening a session takes, with 1,000 and 100,000 updates
	cargo bench --locked -p openagents-e2e --bench opening

bench-page: ui ## Measure what long output, long answers and scrolling cost the page, and how fast all clients see a change
	@scripts/install.sh tests
	cargo build --release --locked -p openagents-cli
	@node ui/bench/main.js
	@OPENAGENTS_BIN=$(abspath $(TARGET))/release/openagents node ui/bench/scroll.js
	@OPENAGENTS_BIN=$(abspath $(TARGET))/release/openagents node ui/bench/agent.js
	cargo build --locked --package openagents-e2e --bin fake-agent
	@OPENAGENTS_BIN=$(abspath $(TARGET))/release/openagents node ui/bench/spread.js

fuzz: $(FUZZ) ## Fuzz every decoder of foreign frames, five minutes each (needs a nightly Rust)
	@scripts/fuzz.sh

check: ui ## Type-check everything, quickly
	@scripts/install.sh desktop
	cargo check --workspace --all-targets --locked
	@$(NPM) --prefix ui run check

check-macos: ui ## Type-check for macOS on Apple silicon, from Debian
	@scripts/install.sh macos-check
	CARGO_TARGET_DIR=$(TARGET)/darwin-check scripts/macos-check/check.sh

lint: ui ## Run clippy; a warning is an error
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --workspace $(PEER_TESTS) --locked -- -D warnings

ui: $(PAGE) ## Build the page

fmt: ui/node_modules/.installed ## Format the Rust code and the page
	cargo fmt --all
	@$(NPM) --prefix ui run format

check-format: ui/node_modules/.installed
	cargo fmt --all --check
	@$(NPM) --prefix ui run format:check

clean: ## Remove everything that was built
	cargo clean
	rm -rf ui/dist ui/node_modules node_modules gen

install-tests:
	@scripts/install.sh tests
	@scripts/test-models.sh

deny: $(DENY) ## Check the licences and sources of all dependencies
	@$(DENY) --locked check bans licenses sources

# Not part of `make test`, because its result can change without a change here.
audit: $(DENY) ## Check all dependencies for known vulnerabilities (prints a notice when offline)
	@scripts/audit.sh $(DENY)

test-ui: $(PAGE)
	@$(NPM) --prefix ui run check
	@$(NPM) --prefix ui run lint
	@$(NPM) --prefix ui run test

# Builds the programs too, because the end-to-end tests start them.
build-tests: $(PAGE)
	cargo build --workspace --locked
	cargo test --workspace --locked --no-run --quiet
	cargo test --workspace --locked --no-run --quiet $(PEER_TESTS)
	cargo build --workspace --locked --quiet $(BENCHES)

test-rust: build-tests node_modules/.installed
	@bash -c 'set -o pipefail; cargo test --workspace --locked 2>&1 | tee $(TARGET)/rust-tests.log'

test-page: $(PAGE)
	cargo build --workspace --locked
	@$(NPM) --prefix ui run test:page

# The third-party clients come from npm; if it cannot be reached, this prints a notice and passes.
test-conformance:
	@scripts/conformance.sh

$(PAGE): ui/node_modules/.installed $(PAGE_SOURCES)
	@$(NPM) --prefix ui run build
	@touch $@

ui/node_modules/.installed: ui/package.json ui/package-lock.json
	@echo "Installing with npm: what ui/package.json names"
	@$(NPM) --prefix ui ci --loglevel=error
	@touch $@

node_modules/.installed: package.json package-lock.json
	@echo "Installing with npm: what package.json names"
	@$(NPM) ci --loglevel=error
	@touch $@

# Built without optimisation: it runs for three seconds and compiles three times as fast.
$(DENY):
	@echo "Installing with cargo: cargo-deny"
	@RUSTC_WORKSPACE_WRAPPER= CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --version $(DENY_VERSION) --locked --debug --no-default-features \
		--root $(TARGET)/tools --target-dir $(TARGET)/tools/build --quiet
	@rm -rf $(TARGET)/tools/build

$(MDBOOK):
	@echo "Installing with cargo: mdbook"
	@RUSTC_WORKSPACE_WRAPPER= cargo install mdbook --version $(MDBOOK_VERSION) --locked --debug --no-default-features \
		--features search --root $(TARGET)/tools --target-dir $(TARGET)/tools/build --quiet
	@rm -rf $(TARGET)/tools/build

$(CYCLONEDX):
	@echo "Installing with cargo: cargo-cyclonedx"
	@RUSTC_WORKSPACE_WRAPPER= cargo install cargo-cyclonedx --version $(CYCLONEDX_VERSION) --locked \
		--root $(TARGET)/tools --target-dir $(TARGET)/tools/build --quiet
	@rm -rf $(TARGET)/tools/build

$(FUZZ):
	@echo "Installing with cargo: cargo-fuzz"
	@RUSTC_WORKSPACE_WRAPPER= cargo install cargo-fuzz --version $(FUZZ_VERSION) --locked --debug \
		--root $(TARGET)/tools --target-dir $(TARGET)/tools/build --quiet
	@rm -rf $(TARGET)/tools/build

$(CCUSAGE):
	@echo "Installing with npm: ccusage"
	@$(NPM) install --prefix $(TARGET)/tools/ccusage --ignore-scripts --loglevel=error ccusage@$(CCUSAGE_VERSION)
