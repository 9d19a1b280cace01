#!/bin/bash
# Writes a bill of materials (CycloneDX) for each program of the bundle, and one for the page:
#
#   sbom.sh CARGO_CYCLONEDX FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:?the path of cargo-cyclonedx} folder=${2:?the folder for the files}
name=openagents-sbom

mkdir -p "$folder"
rm -f "$folder"/*.cdx.json
# cargo-cyclonedx writes next to every manifest of the workspace.
clean() { find . -name "$name.json" -not -path '*/node_modules/*' -delete; }
trap clean EXIT
"$tool" cyclonedx --format json --spec-version 1.5 --target "$(rustc -vV | sed -n 's/^host: //p')" --override-filename "$name" --quiet
for program in openagents-desktop=. openagents-llama=crates/llama/helper openagents-apple=crates/apple/helper; do
    mv "${program#*=}/$name.json" "$folder/${program%%=*}.cdx.json"
done
[ "$(uname -s)" = Darwin ] || rm "$folder/openagents-apple.cdx.json"
npm --prefix ui sbom --omit dev --sbom-format cyclonedx --package-lock-only --no-update-notifier >"$folder/page.cdx.json"
echo "Written: $(cd "$folder" && echo ./*.cdx.json)"
