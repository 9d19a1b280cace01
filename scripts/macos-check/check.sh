#!/bin/bash
# Type-checks the workspace for Apple-silicon macOS on Debian, without a Mac.
#
# Debian's second Rust (rustc-web, cargo-web, rust-web-src) builds the standard library for the target. Build scripts
# that compile C get a compiler that writes empty objects: a check never links. What it cannot see: clippy for that
# target, anything at run time, and crates whose build script runs cmake: so the helper program of the local model is left out.
# DOCS_RS tells foundation-models to leave out its Swift part, which only Xcode can build.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=aarch64-apple-darwin

env -u RUSTUP_TOOLCHAIN PATH=/usr/bin:/bin RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 DOCS_RS=1 \
    CC_aarch64_apple_darwin="$here/bin/stubcc" \
    CXX_aarch64_apple_darwin="$here/bin/stubcc" \
    AR_aarch64_apple_darwin="$here/bin/stubar" \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/darwin-check}" \
    /usr/bin/cargo check --workspace --exclude openagents-llama-helper --all-targets --locked -Zbuild-std=std,panic_unwind --target "$target" "$@"
