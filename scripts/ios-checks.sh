#!/bin/bash
# Tests a server that knows one workspace with history, using an emulator of the OpenAgents iOS app.
#
#   ios-checks.sh prepare EMULATOR   installs what the emulator needs
#   ios-checks.sh run EMULATOR       runs every scenario as every version of the app, on this machine and over the network
set -euo pipefail
action=${1:?prepare or run}
emulator=$(cd "${2:?the folder of the emulator}" && pwd)
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
environment=$target/ios-checks

if [ "$action" = prepare ]; then
    if ! python3 -m venv "$environment" >/dev/null 2>&1; then
        scripts/install.sh python
        python3 -m venv --clear "$environment"
    fi
    "$environment/bin/pip" install --quiet --requirement "$emulator/requirements.txt"
    exit
fi

cargo build --locked --workspace --quiet
PYTHONDONTWRITEBYTECODE=1 exec "$environment/bin/python" scripts/ios-checks.py \
    --emulator "$emulator/ios_client.py" --program "$target/debug/openagents"
