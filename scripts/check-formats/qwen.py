"""Qwen Code: `qwen -p`, a terminal, and `qwen serve` for the archive."""

import json
import re
import time
import urllib.request

from agent import TerminalAgent

SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True}, "telemetry": {"enabled": False},
    # Both ask the model beside the work.
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
    "ui": {"enableFollowupSuggestions": False}}


class Qwen(TerminalAgent):
    name, provider, package = "Qwen Code", "qwen", "@qwen-code/qwen-code"
    text_field = "parts"
    work = [{"match": ["write_file"], "arguments": {"file_path": "MADE", "content": "Made."}},
            {"match": ["run_shell_command"], "arguments": {"command": "echo made", "is_background": False}}]
    ready, leaving = "Type your message", "/quit"

    def prepare(self):
        self.stage.environment.update({
            "OPENAI_API_KEY": "scripted", "OPENAI_BASE_URL": f"http://127.0.0.1:{self.model.port}/v1",
            "OPENAI_MODEL": "scripted"})
        self.folder = self.stage.home / ".qwen"
        self.folder.mkdir()
        (self.folder / "settings.json").write_text(json.dumps(SETTINGS))
        self.qwen = self.stage.bin / "qwen"
        self.server = None

    def finish(self):
        rows = self.stage.run(self.qwen, "sessions", "list")
        listed = set(re.findall(r"^([0-9a-f-]{36}) ", rows, re.M))
        for session in self.book.sessions.values():
            session.listed = session.id in listed

    def print(self, *words):
        """Runs `qwen -p`, with the prompt last, and returns the id of the session."""
        command = [self.qwen, *words[:-1], "-p", words[-1], "--approval-mode", "yolo", "-o", "stream-json"]
        return next(event["session_id"] for event in self.stage.events(*command) if event.get("session_id"))

    def command(self):
        return [self.qwen, "--approval-mode", "yolo"]

    def ids(self):
        return [log.stem for log in self.folder.glob("projects/*/chats/*.jsonl")]

    def post(self, path, **body):
        self.server = self.server or self.stage.serve(self.qwen, "serve", "--port", "0")
        request = urllib.request.Request(
            self.server + path, json.dumps(body).encode(), {"content-type": "application/json"}, method="POST")
        return json.loads(urllib.request.urlopen(request, timeout=30).read())

    def new(self):
        self.first = self.ask_to_work(None, lambda turn: self.print(turn.text))

    def resume(self):
        self.ask(self.first, lambda turn: self.print("--resume", self.first.id, turn.text))
        self.ask(self.first, lambda turn: self.print("--continue", turn.text))

    def fork(self):
        self.ask(None, lambda turn: self.print("--resume", self.first.id, "--fork-session", turn.text)).begin_with(self.first)

    def rewind(self):
        session = self.start(3)
        self.terminal.keys("Escape", "Escape")
        self.terminal.wait("Rewind Conversation")
        self.terminal.keys("Enter")
        self.terminal.wait("Restore conversation")
        self.terminal.keys("Enter")
        self.terminal.wait("Conversation rewound")
        session.take_back()
        self.terminal.clear()
        self.more(session)
        self.leave()
        # A fork of it has the copies of what was undone.
        self.ask(None, lambda turn: self.print("--resume", session.id, "--fork-session", turn.text)).begin_with(session)

    def compaction(self):
        session = self.start(2)
        summary = f"<state_snapshot>{self.summary(session)}</state_snapshot>"
        self.model.say(summary, title=summary)
        self.terminal.enter("/compress")
        self.terminal.wait("compressed from")
        self.more(session)
        self.leave()

    def rename(self):
        session = self.start(1)
        session.title = "Renamed by hand"
        self.terminal.enter(f"/rename {session.title}")
        self.terminal.wait("Session renamed")
        self.leave()

    def sub_agent(self):
        parent, child = self.ask_for_helper("prompt", {
            "match": ["agent", "task"], "arguments": {"description": "Look", "subagent_type": "general-purpose"}})
        session = self.book.session(self.print(parent.text))
        session.turns.append(parent)
        log, = self.folder.glob(f"projects/*/subagents/{session.id}/*.jsonl")
        self.book.session(log.stem, started_by=session.id).turns.append(child)

    def archive(self):
        session = self.ask(None, lambda turn: self.print(turn.text))
        answer = self.post("/sessions/archive", sessionIds=[session.id])
        if answer["archived"] != [session.id]:
            raise RuntimeError(f"not archived: {answer}")
        session.archived = True

    def unarchive(self):
        session = self.ask(None, lambda turn: self.print(turn.text))
        self.post("/sessions/archive", sessionIds=[session.id])
        self.post("/sessions/unarchive", sessionIds=[session.id])

    def delete(self):
        session = self.ask(None, lambda turn: self.print(turn.text))
        self.post("/sessions/delete", sessionIds=[session.id])
        session.deleted = True

    def log(self, id):
        return next(self.folder.glob(f"projects/*/chats/{id}.jsonl"))

    scenarios = {
        "new": new, "resume": resume, "fork": fork,
        "branch": "/branch says that a response is in progress, also when nothing runs; a fork is the same",
        "rewind": rewind, "compaction": compaction, "rename": rename, "sub-agent": sub_agent, "archive": archive,
        "unarchive": unarchive, "background copy": "/fork starts a sub-agent, with a log like any other",
        "moved folder": "a session stays in its folder", "delete": delete}
