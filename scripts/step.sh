#!/bin/bash
# Runs one step of the tests under a heading and prints its duration: step.sh NAME COMMAND…
set -uo pipefail
name=$1
shift
printf '\n\033[1m== %s\033[0m\n' "$name"
start=$(date +%s)
"$@"
status=$?
seconds=$(($(date +%s) - start))
if [ $status = 0 ]; then
    printf -- '-- %s: ok in %s s\n' "$name" "$seconds"
else
    printf -- '-- %s: FAILED after %s s\n' "$name" "$seconds" >&2
fi
exit $status
