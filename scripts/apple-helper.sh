#!/bin/bash
# Builds the helper program for Foundation Models, on a Mac with Apple silicon and the SDK of macOS 26. The app runs without
# it, so a missing prerequisite is reported and does not fail the build.
#
#   apple-helper.sh PROFILE   PROFILE is debug or release
#
# Written for the bash 3.2 that macOS has.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:?debug or release}

without() {
    echo "Without Foundation Models: $*" >&2
    rm -f "${CARGO_TARGET_DIR:-target}/$profile/openagents-apple"
    exit 0
}

[ "$(uname -s)" = Darwin ] || exit 0
[ "$(uname -m)" = arm64 ] || without "they need a Mac with Apple silicon."
sdk=$(xcrun --sdk macosx --show-sdk-version 2>/dev/null) || without "their helper program is built with Xcode 26."
[ "${sdk%%.*}" -ge 26 ] || without "their helper program is built with Xcode 26, and this one has macOS $sdk."
case $profile in
release) cargo build --locked --release -p openagents-apple-helper ;;
*) cargo build --locked -p openagents-apple-helper ;;
esac
