#!/bin/bash
# Checks on macOS that the app posts a notification while the page of its window is suspended. Needs `make test` and
# `make app`. Stops every WebKit page of this user, so use it only on a build machine.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
folder=$(mktemp -d)
export NO_COLOR=1 OPENAGENTS_HOME="$folder/home" OPENAGENTS_PORT=0
log="$folder/log"

app=$(find "$target/release/bundle/macos" -maxdepth 1 -name '*.app' | head -n 1)
RUST_LOG=openagents_desktop=info "$app/Contents/MacOS/openagents-desktop" 2>"$log" &
pid=$!
trap 'pkill -CONT -f com.apple.WebKit.WebContent || true; kill "$pid" 2>/dev/null || true; rm -rf "$folder"' EXIT

for _ in $(seq 150); do
    [ -e "$OPENAGENTS_HOME/bridge.json" ] && pgrep -qf com.apple.WebKit.WebContent && break
    sleep 0.2
done
[ -e "$OPENAGENTS_HOME/bridge.json" ] || { echo "The app did not start:"; cat "$log"; exit 1; }
# The page has connected, and the window is not in front.
sleep 5
osascript -e 'tell application "Finder" to activate'
pkill -STOP -f com.apple.WebKit.WebContent

mkdir "$folder/project"
printf '# Project\n\nProject is small.\n' >"$folder/project/README.md"
"$target/debug/openagents" explore "$folder/project" >/dev/null
for _ in $(seq 150); do
    grep -q 'notification.*kind="turn"' "$log" && exit 0
    sleep 0.2
done
echo "No notification was posted while the page was suspended:"
cat "$log"
exit 1
