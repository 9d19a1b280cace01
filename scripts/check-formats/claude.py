"""Claude Code: `claude -p`, and what only the terminal offers in a terminal."""

import json
import time

from agent import TerminalAgent


class Claude(TerminalAgent):
    name, provider, package = "Claude Code", "claude-code", "@anthropic-ai/claude-code"
    text_field = "message"
    work = [{"match": ["Write"], "arguments": {"file_path": "MADE", "content": "Made."}},
            {"match": ["Bash"], "arguments": {"command": "echo made", "description": "Say it"}}]
    ready, leaving = "for agents", "/exit"

    def prepare(self):
        key = "sk-ant-scripted"
        self.stage.environment.update({
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.model.port}", "ANTHROPIC_API_KEY": key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1"})
        self.folder = self.stage.home / ".claude"
        self.folder.mkdir()
        # It refuses the bypass mode to root, as it should.
        (self.folder / "settings.json").write_text('{"permissions":{"disableBypassPermissionsMode":"disable"}}')
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        folders = [self.stage.workspace, self.stage.workspace / "moved"]
        (self.stage.home / ".claude.json").write_text(json.dumps({
            "hasCompletedOnboarding": True, "theme": "dark", "projects": {str(folder): trusted for folder in folders},
            "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []}}))
        self.claude = self.stage.bin / "claude"

    def finish(self):
        """Its own list shows sessions of terminals, with their titles, and no ids: there is nothing to compare with."""

    def print(self, *words):
        """Runs `claude -p` and returns the id of the session."""
        events = self.stage.events(
            self.claude, "-p", "--output-format", "stream-json", "--verbose", "--allowed-tools", "Bash",
            "--permission-mode", "acceptEdits", *words)
        return events[-1]["session_id"]

    def command(self):
        return [self.claude]

    def ids(self):
        return [file.stem for file in self.folder.glob("projects/*/*.jsonl")]

    def new(self):
        self.first = self.ask(None, lambda turn: self.print(turn.text))
        self.ask_to_work(self.first, lambda turn: self.print("--resume", self.first.id, turn.text))

    def resume(self):
        self.ask(self.first, lambda turn: self.print("--resume", self.first.id, turn.text))
        self.ask(self.first, lambda turn: self.print("--continue", turn.text))

    def fork(self):
        self.ask(None, lambda turn: self.print("--resume", self.first.id, "--fork-session", turn.text)).begin_with(self.first)

    def branch(self):
        parent = self.start(2)
        self.rewind_one(parent)
        self.more(parent)
        self.known = set(self.ids())
        self.terminal.enter("/branch")
        self.terminal.wait("Branched")
        branch = self.book.session(self.new_id()).begin_with(parent)
        branch.title = f"{parent.turns[0].text} (Branch)"
        self.more(branch)
        self.leave()

    def rewind_one(self, session):
        """Takes the last turn back."""
        self.terminal.keys("Escape", "Escape")
        self.terminal.wait("Restore the code")
        self.terminal.keys("Up", "Enter")
        self.terminal.wait("Restore conversation")
        self.terminal.keys("Enter")
        time.sleep(1.5)
        self.terminal.clear()
        session.take_back()

    def rewind(self):
        session = self.start(3)
        self.rewind_one(session)
        self.more(session)
        self.leave()

    def compaction(self):
        session = self.start(2)
        self.model.say(self.summary(session))
        self.terminal.enter("/compact")
        self.terminal.wait("Compacted")
        self.more(session)
        self.leave()

    def rename(self):
        session = self.start(1)
        self.terminal.enter("/rename Renamed by hand")
        self.terminal.wait("Session renamed")
        session.title = "Renamed by hand"
        # A new session in the same terminal takes the name over.
        self.known = set(self.ids())
        self.terminal.enter("/clear")
        time.sleep(2)
        self.more(None).title = session.title
        self.leave()
        named = self.ask(None, lambda turn: self.print("--name", "Named at its start", turn.text))
        named.title = "Named at its start"

    def sub_agent(self):
        parent, child = self.ask_for_helper(
            "prompt", {"intent": "subagent", "arguments": {"description": "Look", "subagent_type": "general-purpose"}})
        session = self.book.session(self.print(parent.text))
        session.turns.append(parent)
        file, = self.folder.glob(f"projects/*/{session.id}/subagents/*.jsonl")
        self.book.session(file.stem, started_by=session.id, title="Look").turns.append(child)

    def background_copy(self):
        parent = self.start(1)
        self.known = set(self.ids())
        copy = self.ask(None, self.send_to_background).begin_with(parent)
        copy.title = f"⑂ {copy.turns[0].text}"
        self.more(parent)
        self.leave()

    def send_to_background(self, turn):
        self.terminal.enter(f"/fork {turn.text}")
        id = self.new_id()
        log, = self.folder.glob(f"projects/*/{id}.jsonl")
        until = time.monotonic() + 40
        while turn.reply not in log.read_text() and time.monotonic() < until:
            time.sleep(0.5)
        time.sleep(2)
        return id

    def moved_folder(self):
        (self.stage.workspace / "moved").mkdir()
        session = self.start(1)
        self.terminal.enter("/cd moved")
        self.terminal.wait("Moved to")
        self.more(session)
        self.leave()

    def delete(self):
        folder = self.stage.folder / "purged"
        folder.mkdir()
        before = self.stage.workspace
        self.stage.workspace = folder
        try:
            session = self.ask(None, lambda turn: self.print(turn.text))
            self.stage.run(self.claude, "purge", "--yes", folder)
        finally:
            self.stage.workspace = before
        session.deleted = True

    def log(self, id):
        return next(self.folder.glob(f"projects/*/{id}.jsonl"))

    scenarios = {
        "new": new, "resume": resume, "fork": fork, "branch": branch, "rewind": rewind, "compaction": compaction,
        "rename": rename, "sub-agent": sub_agent, "archive": "it has no archive", "unarchive": "it has no archive",
        "background copy": background_copy, "moved folder": moved_folder, "delete": delete}
