#!/bin/bash
# Puts the helper programs where the bundler takes them from, under the names that it asks for. The one for Foundation
# Models is there on a Mac alone, and only where it could be built.
#
#   bundle.sh PROFILE   PROFILE is debug or release
#   bundle.sh apple     what the bundler is told beside its configuration when that one is there
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:?debug, release or apple}
triple=$(rustc -vV | sed -n 's/^host: //p')
folder=gen/programs
if [ "$profile" = apple ]; then
    [ ! -x "$folder/openagents-apple-$triple" ] || echo "--config src-tauri/bundle.apple.conf.json"
    exit 0
fi
mkdir -p "$folder"
built=${CARGO_TARGET_DIR:-target}/$profile
install -m 755 "$built/openagents-llama" "$folder/openagents-llama-$triple"
rm -f "$folder/openagents-apple-$triple"
if [ "$(uname -s)" = Darwin ] && [ -x "$built/openagents-apple" ]; then
    install -m 755 "$built/openagents-apple" "$folder/openagents-apple-$triple"
fi
