#!/bin/bash
# Asks a local model, by default a small one that is downloaded once: agent.sh PROMPT [OPTION…]
set -euo pipefail
cd "$(dirname "$0")/.."
programs=${CARGO_TARGET_DIR:-target}/debug
scripts/install.sh build >&2
scripts/test-models.sh >&2
cargo build --quiet --locked -p openagents-cli -p openagents-llama-helper >&2
model=${MODEL:-${OPENAGENTS_TEST_MODELS:-${CARGO_TARGET_DIR:-target}/test-models}/SmolLM2-135M-Instruct.gguf}
exec "$programs/openagents" agent "$@" --model "$model"
