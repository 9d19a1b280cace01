"""Compares what the product shows of an agent's sessions with what was done."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from records import unknown

# Bytes of a log that the product reads whole for its list (`limits::SUMMARY_WHOLE`).
LONG = 256 << 10


class Product:
    """`openagents sessions`, over the home folder of a stage."""

    def __init__(self, program, stage, provider):
        self.program, self.stage, self.provider = program, stage, provider
        self.environment = {**stage.environment, "OPENAGENTS_HOME": str(stage.folder / "openagents")}

    def json(self, *words):
        ended = subprocess.run([self.program, "sessions", *words, "--json"], env=self.environment, text=True,
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        if ended.returncode:
            raise RuntimeError(f"openagents sessions {' '.join(words)}: {ended.stderr.strip()}")
        return json.loads(ended.stdout)

    def rows(self):
        return self.json("list", "--provider", self.provider, "--all", "--limit", "0")

    def events(self, id):
        return self.json("show", id, "--limit", "100000")["events"]

    def found(self, word):
        matches = self.json("search", word, "--provider", self.provider, "--all", "--limit", "0")["matches"]
        return {match["sessionId"] for match in matches}

    def stats(self):
        return next(row for row in self.json("stats", "--provider", self.provider) if row["provider"] == self.provider)


def compare(book, product, search=True):
    """Returns what is wrong, as sentences."""
    wrong = Findings(book)
    rows = product.rows()
    for session in book.sessions.values():
        wrong.list(session, [row for row in rows if row["id"] == session.id])
    for row in rows:
        if row["id"] not in book.sessions:
            wrong.add(row["id"], f"listed as {row['title']!r}, but nobody made it ({row['file_path']})")
    listed = {row["id"] for row in rows}
    shown = [session for session in book.sessions.values() if session.id in listed]
    with ThreadPoolExecutor(2) as pool:
        for session, events in zip(shown, pool.map(lambda session: product.events(session.id), shown)):
            wrong.timeline(session, events)
        if search:
            wrong.search("without an index", pool, product)
            product.json("index", "--wait")
            wrong.search("with the index", pool, product)
    wrong.stats(product.stats())
    return wrong.sentences


class Findings:
    def __init__(self, book):
        self.book, self.sentences = book, []

    def add(self, where, sentence):
        session = self.book.sessions.get(where)
        self.sentences.append(f"{session.scenario} ({where}): {sentence}" if session else f"{where}: {sentence}")

    def expect(self, id, what, found, *expected):
        if found not in expected:
            wanted = " or ".join(repr(value) for value in expected)
            self.add(id, f"{what}: {found!r}, not {wanted}")

    def list(self, session, rows):
        if len(rows) != (0 if session.deleted else 1):
            self.add(session.id, f"{len(rows)} rows in the list" + (", though it was deleted" if session.deleted else ""))
            return
        for row in rows:
            first = [turns[0].text for turns in (session.live(), session.inherited) if turns and turns[0].prompt]
            if session.title or first:
                self.expect(session.id, "title", row["title"], *([session.title] if session.title else first))
            self.expect(session.id, "archived", row.get("archived", False), session.archived)
            self.expect(session.id, "sub-agent", row["subagent"], session.started_by is not None)
            self.expect(session.id, "continues", row.get("continues"), session.continues)
            own = len(session.live())
            counts = [own, own + len(session.inherited)]
            # A task given to a sub-agent is not a user's prompt, and prompts of a long log are not counted.
            counts += [0] if session.started_by else []
            counts += [None] if Path(row["file_path"]).is_file() and Path(row["file_path"]).stat().st_size > LONG else []
            self.expect(session.id, "prompts", row["user_turns"], *counts)
            if session.listed is not None:
                self.expect(session.id, "hidden", row["hidden"], not session.listed)

    def timeline(self, session, events):
        # In the log of a sub-agent every event is one of a sub-agent.
        aside = ("undone", "copied", "" if session.started_by else "sidechain")
        shown = [event for event in events if not any(event.get(mark) for mark in aside)]
        for kind, word in (("user", lambda turn: turn.prompt), ("assistant", lambda turn: turn.answer)):
            own = [word(turn) for turn in session.live() if word(turn)]
            whole = [word(turn) for turn in session.inherited] + own
            self.expect(session.id, f"{kind} in the timeline", self.words(shown, kind), own, whole)
        undone = [event for event in events if event.get("undone")]
        for turn in session.turns:
            if turn.undone and not turn.removed:
                marked = {*self.words(undone, "user"), *self.words(undone, "assistant")}
                if not {turn.prompt, turn.answer} <= marked:
                    self.add(session.id, f"not marked as undone: {turn.text!r}")
        calls = sum(event["type"] == "tool_use" for event in events)
        if calls < session.calls:
            self.add(session.id, f"{calls} calls of tools in the timeline, not {session.calls}")
        touched = [file for event in events for file in event["files"]]
        for file in session.files:
            if not any(path.endswith(file) for path in touched):
                self.add(session.id, f"{file} is not among the files of the timeline: {touched}")
        for summary in session.summaries:
            if summary not in self.words(events, "compaction"):
                self.add(session.id, f"the compaction with the summary {summary!r} is not in the timeline")

    def words(self, events, kind):
        """Returns the words of the book in events of a kind, each run of the same one once."""
        found = []
        for event in events:
            if event["type"] != kind:
                continue
            for word in re.findall(r"[a-z]+", event["content"]):
                if word in self.book.words and found[-1:] != [word]:
                    found.append(word)
        return found

    def search(self, how, pool, product):
        wanted = []
        for session in self.book.sessions.values():
            for turn in session.turns:
                owner = set() if session.deleted or turn.undone else {session.id}
                elsewhere = self.book.elsewhere(session, turn)
                wanted += [(session, word, owner, elsewhere) for word in (turn.prompt, turn.answer) if word]
            # Where a sub-agent has no log of its own, its order is a call of this session.
            wanted += [(session, turn.prompt, {session.id}, set()) for turn in session.orders]
        for (session, word, owner, elsewhere), found in zip(wanted, pool.map(lambda row: product.found(row[1]), wanted)):
            if not owner <= found <= owner | elsewhere:
                self.add(session.id, f"{word!r} is found {how} in {sorted(found)}, not in {sorted(owner)}")

    def stats(self, stats):
        if stats["badLines"]:
            self.add("stats", f"{stats['badLines']} lines are not understood")
        self.sentences += unknown(stats)
