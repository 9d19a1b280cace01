#!/bin/bash
# Copies the helper programs to where the bundler looks for them, under the names that it expects. The one for Foundation
# Models exists only on a Mac, and only if it could be built.
#
#   bundle.sh PROFILE   PROFILE is debug or release
#   bundle.sh apple     prints the bundler's extra option if the helper for Foundation Models exists
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
