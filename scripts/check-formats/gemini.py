"""Gemini CLI: `gemini -p`, and what only the terminal offers in a terminal."""

import json
import re
import time

from agent import TerminalAgent

SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True}, "telemetry": {"enabled": False}}


class Gemini(TerminalAgent):
    name, provider, package = "Gemini CLI", "gemini", "@google/gemini-cli"
    text_field = "content"
    work = [{"match": ["write_file"], "arguments": {"file_path": "MADE", "content": "Made."}},
            {"match": ["run_shell_command"], "arguments": {"command": "echo made"}}]
    ready, leaving = "Type your message", "/quit"

    def prepare(self):
        self.stage.environment.update({
            "GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{self.model.port}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true"})
        self.folder = self.stage.home / ".gemini"
        self.folder.mkdir()
        (self.folder / "settings.json").write_text(json.dumps(SETTINGS))
        self.gemini = self.stage.bin / "gemini"

    def finish(self):
        """Resumes a session as the very last thing: at its next start Gemini CLI deletes one that was resumed."""
        listed = self.list()
        for session in self.book.sessions.values():
            session.listed = session.id in listed
            session.title = listed.get(session.id)
        while time.time() // 60 == self.started // 60:
            time.sleep(1)
        self.ask(self.first, lambda turn: self.print("--resume", self.first.id, turn.text))

    def list(self):
        """Returns the titles of its own list, by id."""
        rows = re.findall(r"^ *\d+\. (.*) \([^()]*\) \[([0-9a-f-]+)\]$", self.stage.run(self.gemini, "--list-sessions"), re.M)
        return {id: title for title, id in rows}

    def print(self, *words):
        """Runs `gemini -p`, with the prompt last, and returns the id of the session."""
        command = [self.gemini, *words[:-1], "-p", words[-1], "--approval-mode", "yolo", "-o", "stream-json"]
        return next(event["session_id"] for event in self.stage.events(*command) if event.get("session_id"))

    def command(self):
        return [self.gemini, "--approval-mode", "yolo"]

    def ids(self):
        heads = (json.loads(log.open().readline()) for log in self.folder.glob("tmp/*/chats/session-*.jsonl"))
        return [head["sessionId"] for head in heads]

    def new(self):
        self.started = time.time()
        self.first = self.ask_to_work(None, lambda turn: self.print(turn.text))

    def resume(self):
        """In the minute in which it began; `finish` resumes it in a later one."""
        if time.time() % 60 > 40:
            time.sleep(61 - time.time() % 60)
        session = self.ask(None, lambda turn: self.print(turn.text))
        self.ask(session, lambda turn: self.print("--resume", session.id, turn.text))

    def rewind(self):
        session = self.start(3)
        self.terminal.enter("/rewind")
        self.terminal.wait("Stay at current position")
        self.terminal.keys("Up", "Enter")
        self.terminal.wait("Confirm Rewind")
        self.terminal.keys("Enter")
        time.sleep(2)
        session.take_back(removed=True)
        self.terminal.clear()
        self.more(session)
        self.leave()

    def compaction(self):
        session = self.start(2)
        # It compresses what is long, and long are the tokens that the server counts.
        filler = " ".join(f"filler{number}" for number in range(600))
        turn = self.book.turn()
        self.model.say(f"{filler} {turn.reply}", usage_in=300000)
        self.type(turn)
        session.turns.append(turn)
        summary = f"<state_snapshot>{self.summary(session)}</state_snapshot>"
        self.model.say(summary, title=summary, usage_in=500)
        self.terminal.enter("/compress")
        self.terminal.wait("compressed from")
        self.more(session)
        self.leave()

    def sub_agent(self):
        parent, child = self.ask_for_helper(
            "prompt", {"match": ["invoke_agent"], "arguments": {"agent_name": "generalist"}},
            end=[{"match": ["complete_task"], "arguments": {"result": {"response": "Done."}}}])
        session = self.book.session(self.print(parent.text))
        session.turns.append(parent)
        log, = self.folder.glob(f"tmp/*/chats/{session.id}/*.jsonl")
        self.book.session(log.stem, started_by=session.id).turns.append(child)

    def delete(self):
        session = self.ask(None, lambda turn: self.print(turn.text))
        rows = self.stage.run(self.gemini, "--list-sessions")
        number = re.search(rf"^ *(\d+)\. .*\[{session.id}\]$", rows, re.M)[1]
        self.stage.run(self.gemini, "--delete-session", number)
        session.deleted = True

    def log(self, id):
        # The one with the turns: resuming has made another one.
        return max(self.folder.glob(f"tmp/*/chats/session-*-{id[:8]}.jsonl"), key=lambda log: log.stat().st_size)

    def unheard_of(self, last):
        return {"id": "unheard-of", "timestamp": "2030-01-01T00:00:00.000Z", "type": "unheard_of", "content": "Unheard of."}

    scenarios = {
        "new": new, "resume": resume, "fork": "it has no forks", "branch": "it has no branches", "rewind": rewind,
        "compaction": compaction, "rename": "it has no names; a model writes the title, which every session has",
        "sub-agent": sub_agent, "archive": "it has no archive", "unarchive": "it has no archive",
        "background copy": "it has none", "moved folder": "a session stays in its folder", "delete": delete}
