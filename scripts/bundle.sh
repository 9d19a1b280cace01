#!/bin/bash
# Puts the helper program where the bundler takes it from, under the name that it asks for.
#
#   bundle.sh PROFILE   PROFILE is debug or release
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:?debug or release}
triple=$(rustc -vV | sed -n 's/^host: //p')
folder=gen/programs
mkdir -p "$folder"
install -m 755 "${CARGO_TARGET_DIR:-target}/$profile/openagents-llama" "$folder/openagents-llama-$triple"
