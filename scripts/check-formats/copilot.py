"""GitHub Copilot CLI: `copilot -p`, and a terminal."""

import json
import re
import time

from agent import TerminalAgent


class Copilot(TerminalAgent):
    name, provider, package = "GitHub Copilot CLI", "copilot", "@github/copilot"
    text_field = "content"
    work = [{"match": ["create"], "arguments": {"path": "MADE", "file_text": "Made."}},
            {"match": ["bash"], "arguments": {"command": "echo made", "description": "Say it"}}]
    ready, leaving = "/ commands", "/exit"

    def prepare(self):
        self.stage.environment.update({
            "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{self.model.port}/v1",
            "COPILOT_PROVIDER_API_KEY": "scripted", "COPILOT_MODEL": "scripted", "COPILOT_AUTO_UPDATE": "false"})
        self.folder = self.stage.home / ".copilot"
        self.folder.mkdir()
        (self.folder / "config.json").write_text(json.dumps({"trusted_folders": [str(self.stage.workspace)], "banner": "never"}))
        self.copilot = self.stage.bin / "copilot"

    def print(self, *words):
        """Runs `copilot -p`, with the prompt last, and returns the id of the session."""
        known = set(self.ids())
        self.stage.run(self.copilot, *words[:-1], "-p", words[-1], "--allow-all-tools")
        return next(iter(set(self.ids()) - known), None)

    def command(self):
        return [self.copilot, "--allow-all-tools"]

    def ids(self):
        return [log.parent.name for log in self.folder.glob("session-state/*/events.jsonl")]

    def order(self, text):
        """Types a command with arguments: the list of commands that opens takes the first Enter, or not."""
        self.terminal.enter(text)
        time.sleep(1)
        if re.search(rf"❯ {re.escape(text)}", self.terminal.screen()):
            self.terminal.keys("Enter")

    def new(self):
        self.first = self.ask_to_work(None, lambda turn: self.print(turn.text))

    def resume(self):
        self.ask(self.first, lambda turn: self.print(f"--resume={self.first.id}", turn.text))
        self.ask(self.first, lambda turn: self.print("--continue", turn.text))

    def fork(self):
        parent = self.start(1)
        self.known = set(self.ids())
        self.order("/fork Forked by hand")
        self.terminal.wait("Forked from")
        fork = self.book.session(self.new_id(), title="Forked by hand").begin_with(parent)
        self.more(fork)
        self.leave()

    def rewind(self):
        session = self.start(3)
        self.terminal.enter("/undo")
        self.terminal.wait("Rewind to a previous point")
        self.terminal.keys("Enter")
        self.terminal.wait("Conversation only")
        self.terminal.keys("Enter")
        self.terminal.wait("Rewound the conversation")
        session.take_back(removed=True)
        self.terminal.clear()
        self.more(session)
        self.leave()

    def compaction(self):
        session = self.start(2)
        summary = f"<overview>{self.summary(session)}</overview>"
        self.model.say(summary, title=summary)
        self.terminal.enter("/compact")
        self.terminal.wait("Compaction completed")
        self.more(session)
        self.leave()

    def rename(self):
        session = self.start(1)
        session.title = "Renamed by hand"
        self.order(f"/rename {session.title}")
        self.terminal.wait("Session renamed")
        self.leave()
        named = self.ask(None, lambda turn: self.print("--name", "Named at its start", turn.text))
        named.title = "Named at its start"

    def sub_agent(self):
        parent, child = self.ask_for_helper("prompt", {
            "match": ["task"], "arguments": {"description": "Look", "agent_type": "explore", "name": "looker", "mode": "sync"}})
        session = self.book.session(self.print(parent.text))
        session.turns.append(parent)
        # The log of the session holds what the sub-agent does.
        session.orders.append(child)

    def delete(self):
        session = self.start(1)
        self.order("/session delete")
        time.sleep(2)
        self.terminal.keys("Enter")
        time.sleep(2)
        session.deleted = True
        self.leave()

    def log(self, id):
        return self.folder / "session-state" / id / "events.jsonl"

    scenarios = {
        "new": new, "resume": resume, "fork": fork, "branch": "a fork is the same", "rewind": rewind,
        "compaction": compaction, "rename": rename, "sub-agent": sub_agent, "archive": "it has no archive",
        "unarchive": "it has no archive", "background copy": "it has none",
        "moved folder": "a session stays in its folder", "delete": delete}
