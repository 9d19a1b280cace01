#!/bin/bash
# Builds the app and opens it on a folder: in a window, or without a display as a page in a browser.
set -euo pipefail
folder=${1:?the folder to explore}
# zsh does not expand the tilde in `make run FOLDER=~/code`.
case $folder in "~" | "~/"*) folder=$HOME${folder#"~"} ;; esac
folder=$(cd "$folder" && pwd) || exit 2
cd "$(dirname "$0")/.."
programs=${CARGO_TARGET_DIR:-target}/debug

if [ "$(uname -s)" = Darwin ] || [ -n "${DISPLAY:-}" ] || [ -n "${WAYLAND_DISPLAY:-}" ]; then
    scripts/install.sh desktop
    make --silent ui
    scripts/apple-helper.sh debug
    cargo build --locked -p openagents-desktop -p openagents-cli -p openagents-llama-helper
    exec "$programs/openagents-desktop" "$folder"
fi

echo "There is no display here: serving the page instead. Open the address below in a browser on this machine." >&2
scripts/install.sh build
make --silent ui
cargo build --locked -p openagents-cli -p openagents-llama-helper
exec "$programs/openagents" serve --root "$folder" --explore
