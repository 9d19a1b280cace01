#!/bin/bash
# Installs what the named parts need and this machine lacks, and prints what it installs.
#
#   install.sh build        a C++ toolchain: enough for the command line and the local model
#   install.sh desktop      and the libraries of the desktop window
#   install.sh tests        and what the tests use: browsers, a display, tools to compare with
#   install.sh python       a Python that can create virtual environments
#   install.sh formats      a command line, and a terminal that a program can control
#   install.sh macos-check  a second Rust that can check for macOS
#
# Written for the bash 3.2 that macOS has.
set -euo pipefail

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
refuse() {
    printf '%s\n' "$*" >&2
    exit 1
}

build="build-essential cmake libclang-dev pkg-config ca-certificates"
desktop="$build libwebkit2gtk-4.1-dev libdbus-1-dev"
tests="$desktop webkit2gtk-driver xvfb chromium libnss3-tools fonts-dejavu-core ripgrep procps python3 python3-venv"
python="python3 python3-venv"
formats="$build git procps python3 tmux"
macos_check="rustc-web cargo-web rust-web-src"

check_toolchains() {
    command -v cargo >/dev/null || refuse "Rust is missing: install it as https://rustup.rs says, then try again."
    command -v node >/dev/null && command -v npm >/dev/null ||
        refuse "Node is missing: install version 20.19 or newer from https://nodejs.org, then try again."
    node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
        refuse "Node $(node --version) is too old: install version 20.19 or newer, then try again."
}

with_apt() {
    local missing="" package
    for package in $1; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    local root=""
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || refuse "These packages are missing and only root can install them: apt-get install$missing"
        root=sudo
    fi
    say "Installing with apt-get:$missing"
    $root apt-get update -qq
    # shellcheck disable=SC2086
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

with_brew() {
    command -v "$1" >/dev/null && return
    command -v brew >/dev/null || refuse "$2 is missing and so is Homebrew to install it: see https://brew.sh, then try again."
    say "Installing with Homebrew: $2"
    brew install --quiet "$2"
}

on_macos() {
    xcode-select -p >/dev/null 2>&1 || refuse "The Xcode command line tools are missing: run 'xcode-select --install', then try again."
    with_brew cmake cmake
    [ "$1" = tests ] || return 0
    with_brew rg ripgrep
    [ -n "${CHROMIUM:-}" ] || [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ] ||
        [ -x "/Applications/Chromium.app/Contents/MacOS/Chromium" ] ||
        refuse "The tests of the page need Chrome: install it, or set CHROMIUM to the program of another Chromium."
}

part=${1:?a part, as the head of this file lists them}
check_toolchains
case "$(uname -s)" in
Darwin)
    [ "$part" != macos-check ] || refuse "This is macOS: 'make test' checks the real thing."
    [ "$part" != formats ] || refuse "This runs only on Linux: the Node that it installs is built for Linux."
    on_macos "$part"
    ;;
*)
    case $part in
    build) packages=$build ;;
    desktop) packages=$desktop ;;
    tests) packages=$tests ;;
    python) packages=$python ;;
    formats) packages=$formats ;;
    macos-check) packages=$macos_check ;;
    *) refuse "unknown part: $part" ;;
    esac
    if command -v apt-get >/dev/null; then
        with_apt "$packages"
    else
        say "This is not Debian. If a step fails, install the equivalents of these Debian packages: $packages"
    fi
    ;;
esac
