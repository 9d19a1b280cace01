"""The kinds of records and fields that the readers know: `crates/transcripts/src/history/log/known/AGENT.json`.

What is new there is looked at first: does a reader need it? Then `--learn` adds it.
"""

import json
from pathlib import Path

# Stands for what is not named, in a session with many unknown names.
REST = "…"

FOLDER = Path(__file__).parents[2] / "crates/transcripts/src/history/log/known"


def unknown(stats):
    """Returns what an agent's reader does not know, as sentences."""
    sentences = [f"files of the kind {kind} are not known ({count})" for kind, count in stats["unknownFiles"].items()]
    for of_version in stats["unknown"]:
        sentences += [f"records: {kind!r} is not known to the reader" for kind in of_version["records"]]
        sentences += [f"records: the field {field!r} is not known to the reader" for field in of_version["fields"]]
    return sentences


def learn(provider, stats):
    """Adds what the reader does not know to its table."""
    file = FOLDER / f"{provider}.json"
    known = json.loads(file.read_text())
    kinds = {kind: set(fields) for kind, fields in known["records"].items()}
    for of_version in stats["unknown"]:
        for kind in of_version["records"]:
            if kind != REST:
                kinds.setdefault(kind, set())
        for name in of_version["fields"]:
            # Kinds and fields may have points in their names; of a session with many, the rest has none.
            of = max((kind for kind in kinds if name.startswith(f"{kind}.")), key=len, default=None)
            if of is not None:
                kinds[of].add(name[len(of) + 1:])
    lines = [f"{json.dumps(kind)}: {json.dumps(sorted(fields))}" for kind, fields in sorted(kinds.items())]
    records = "{\n" + ",\n".join(lines) + "\n}"
    file.write_text(f'{{\n"records": {records},\n"files": {json.dumps(known["files"])}\n}}\n')
