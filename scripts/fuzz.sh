#!/bin/bash
# Fuzzes the decoders of foreign frames, five minutes each, or for as many seconds as the first argument says.
#
# Needs a nightly Rust beside the pinned one, and cargo-fuzz, which `make fuzz` installs into the target folder.
set -euo pipefail
seconds=${1:-300}
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
rustup run nightly rustc --version >/dev/null 2>&1 || {
    echo "A nightly Rust is missing: run 'rustup toolchain install nightly', then try again." >&2
    exit 1
}
export PATH=$target/tools/bin:$PATH
cd crates/bridge
for decoder in acp_frame ios_frame unauthenticated; do
    found=$target/fuzz/$decoder
    mkdir -p "$found"
    echo "== $decoder, $seconds s"
    # No unsafe code, hence no sanitizer.
    cargo +nightly fuzz run --sanitizer none --target-dir "$target/fuzz/build" "$decoder" "$found" "fuzz/seeds/$decoder" -- \
        -max_total_time="$seconds" -print_final_stats=1
done
