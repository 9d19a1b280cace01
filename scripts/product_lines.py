#!/usr/bin/env python3
"""Counts the product lines of a commit: Rust without tests, and the page without its tests.

    scripts/product_lines.py [COMMIT]

All lines, and those that are neither blank nor comment, per crate. A test file is one in a folder `tests`, or named
`tests`, `testing`, `fuzzing` or `*_tests`; a module behind `#[cfg(test)]` at the left margin does not count either.
"""

import re
import subprocess
import sys
from collections import defaultdict

COMMENT = re.compile(r"^(//|/\*|\*|<!--)")


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout.decode(errors="replace")


# Written by `make generate`.
GENERATED = ("ui/src/connection/wire.ts",)


def part_of(path):
    """Returns the crate or folder that a product file belongs to; None for other files."""
    parts = path.split("/")
    stem = parts[-1].rsplit(".", 1)[0]
    if "tests" in parts or stem in ("tests", "testing", "fuzzing") or stem.endswith(("_tests", ".test")):
        return None
    if path in GENERATED:
        return None
    if path.startswith("ui/src/") and path.endswith((".ts", ".svelte", ".css")):
        return "ui"
    if path.endswith(".rs") and "/src/" in path and "fuzz" not in parts:
        return "/".join(parts[: parts.index("src")])
    return None


def without_tests(text):
    """Leaves out modules behind `#[cfg(test)]` that end with a brace at the left margin."""
    kept, inside = [], False
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("#[cfg(test)]") and any(
            next_line.startswith("mod ") and next_line.endswith("{") for next_line in lines[at + 1 : at + 3]
        ):
            inside = True
        if not inside:
            kept.append(line)
        elif line == "}":
            inside = False
    return kept


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    counts = defaultdict(lambda: [0, 0])
    for path in git("ls-tree", "-r", "--name-only", commit).splitlines():
        part = part_of(path)
        if part is None:
            continue
        text = git("show", f"{commit}:{path}")
        lines = without_tests(text) if path.endswith(".rs") else text.splitlines()
        counts[part][0] += len(lines)
        counts[part][1] += sum(1 for line in lines if line.strip() and not COMMENT.match(line.strip()))
    for part in sorted(counts):
        print(f"{part:24} {counts[part][0]:7} {counts[part][1]:7}")
    print(f"{'all':24} {sum(all for all, _ in counts.values()):7} {sum(code for _, code in counts.values()):7}")


main()
