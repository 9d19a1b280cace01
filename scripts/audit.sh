#!/bin/bash
# Checks the crates, and the npm packages in the page, for known vulnerabilities: audit.sh CARGO_DENY
#
# Fails on a vulnerability. A source that cannot be reached is named as NOT checked. If only one is unreachable, the check
# fails; if both are, it passes, as on a machine without network, except where CI is set.
set -uo pipefail
cd "$(dirname "$0")/.."
deny=${1:?the path of cargo-deny}
checked=0 unreachable=0 found=0

unreached() {
    unreachable=$((unreachable + 1))
    echo "$1 cannot be reached: $2 were NOT checked." >&2
}

if "$deny" --log-level off fetch db; then
    checked=$((checked + 1))
    "$deny" --locked check --disable-fetch advisories || found=1
else
    unreached "The database of RustSec" "the crates"
fi

# On an error npm prints no report. Development tools are not shipped.
report=$(npm --prefix ui audit --omit=dev --json --package-lock-only --no-update-notifier 2>/dev/null)
if [[ $report == *'"auditReportVersion"'* ]]; then
    checked=$((checked + 1))
    npm --prefix ui audit --omit=dev --package-lock-only --no-update-notifier || found=1
else
    unreached "The advisories of npm" "the packages of the page"
fi

[ $found = 0 ] || exit 1
[ $unreachable != 0 ] || { echo "No known vulnerability." && exit 0; }
if [ -n "${CI:-}" ] || [ $checked != 0 ]; then
    exit 1
fi
echo "Nothing was checked: this machine is offline." >&2
