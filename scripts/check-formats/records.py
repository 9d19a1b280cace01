"""The kinds of records that the readers are known to meet, and their fields: `known/AGENT.json`.

What is new there is looked at first: does a reader need it? Then `--learn` adds it.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "known"


def found(agent):
    """Returns the fields of each kind of record in the logs of an agent."""
    kinds = {}
    for record in agent.records():
        kind, objects = agent.shape(record)
        fields = kinds.setdefault(kind, set())
        for name, value in objects.items():
            if isinstance(value, dict):
                fields.update(f"{name}.{key}" if name else key for key in value)
    return kinds


def known(agent):
    file = FOLDER / f"{agent.provider}.json"
    return {kind: set(fields) for kind, fields in json.loads(file.read_text()).items()} if file.exists() else {}


def unknown(agent):
    """Returns what is in the logs and not known, as sentences."""
    before, sentences = known(agent), []
    for kind, fields in sorted(found(agent).items()):
        if kind not in before:
            sentences.append(f"records: {kind!r} is not known to the readers")
        elif fields - before[kind]:
            sentences.append(f"records: of {kind!r} these fields are not known to the readers: {sorted(fields - before[kind])}")
    return sentences


def learn(agent):
    """Adds what is in the logs to what is known."""
    kinds = known(agent)
    for kind, fields in found(agent).items():
        kinds[kind] = kinds.get(kind, set()) | fields
    lines = [f"{json.dumps(kind)}: {json.dumps(sorted(fields))}" for kind, fields in sorted(kinds.items())]
    (FOLDER / f"{agent.provider}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
