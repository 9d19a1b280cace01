"""opencode: `opencode run`, and the rest through the HTTP interface of `opencode serve`."""

import contextlib
import json
import sqlite3
import time
import urllib.request

from agent import Agent


class Opencode(Agent):
    name, provider, package = "opencode", "opencode", "opencode-ai"
    text_field = "text"
    work = [{"match": ["write"], "arguments": {"filePath": "MADE", "content": "Made."}},
            {"match": ["bash"], "arguments": {"command": "echo made", "description": "Say it"}}]

    def prepare(self):
        folder = self.stage.home / ".config" / "opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
            "permission": {"edit": "allow", "bash": "allow"},
            "provider": {"scripted": {
                "npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": {"name": "scripted"}},
                "options": {"baseURL": f"http://127.0.0.1:{self.model.port}/v1", "apiKey": "scripted"}}}}))
        for name in ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "SHARE", "DEFAULT_PLUGINS"):
            self.stage.environment[f"OPENCODE_DISABLE_{name}"] = "1"
        self.opencode = self.stage.bin / "opencode"
        self.server = self.stage.serve(self.opencode, "serve", "--port", "0")

    def finish(self):
        """Its own list has the title of every session, and leaves archived ones to its screens to hide."""
        titles = {row["id"]: row["title"] for row in self.call("GET", "/session")}
        for session in self.book.sessions.values():
            session.title = titles.get(session.id)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server + path, data, {"content-type": "application/json"}, method=method)
        return json.loads(urllib.request.urlopen(request, timeout=60).read() or b"null")

    def prompt(self, id, text):
        """Returns the id of the message."""
        parts = [{"type": "text", "text": text}]
        return self.call("POST", f"/session/{id}/message", {"parts": parts})["info"]["parentID"]

    def start(self, turns):
        """Starts a session with some turns; also returns the ids of their messages."""
        session, messages = self.book.session(self.call("POST", "/session", {})["id"]), []
        for _ in range(turns):
            self.ask(session, lambda turn: messages.append(self.prompt(session.id, turn.text)))
        return session, messages

    def more(self, session):
        self.ask(session, lambda turn: self.prompt(session.id, turn.text))

    def forked(self, parent, turns=None, **body):
        id = self.call("POST", f"/session/{parent.id}/fork", body)["id"]
        session = self.book.session(id).begin_with(parent, turns)
        # Nothing in its database names the parent.
        session.continues = None
        self.more(session)

    def run(self, *words):
        return self.stage.events(self.opencode, "run", "--format", "json", *words)[0]["sessionID"]

    def new(self):
        self.first = self.ask_to_work(None, lambda turn: self.run(turn.text))

    def resume(self):
        self.ask(self.first, lambda turn: self.run("--session", self.first.id, turn.text))
        self.ask(self.first, lambda turn: self.run("--continue", turn.text))

    def fork(self):
        self.forked(self.first)

    def branch(self):
        parent, messages = self.start(2)
        self.forked(parent, 1, messageID=messages[1])

    def rewind(self):
        session, messages = self.start(3)
        self.call("POST", f"/session/{session.id}/revert", {"messageID": messages[2]})
        # It deletes what was reverted at the next prompt.
        session.take_back(removed=True)
        self.more(session)
        # Here it is still in the database, and its screen hides it.
        session, messages = self.start(2)
        self.call("POST", f"/session/{session.id}/revert", {"messageID": messages[1]})
        session.take_back()
        session, messages = self.start(1)
        self.call("POST", f"/session/{session.id}/revert", {"messageID": messages[0]})
        self.call("POST", f"/session/{session.id}/unrevert")

    def compaction(self):
        session, _ = self.start(2)
        summary = self.summary(session)
        self.model.say(summary, title=summary)
        self.call("POST", f"/session/{session.id}/summarize", {"providerID": "scripted", "modelID": "scripted"})
        time.sleep(2)
        self.more(session)

    def rename(self):
        session, _ = self.start(1)
        self.call("PATCH", f"/session/{session.id}", {"title": "Renamed by hand"})

    def sub_agent(self):
        parent, child = self.ask_for_helper("prompt", {
            "match": ["task"], "arguments": {"description": "Look", "subagent_type": "general"}})
        session, _ = self.start(0)
        self.prompt(session.id, parent.text)
        session.turns.append(parent)
        helper, = self.call("GET", f"/session/{session.id}/children")
        self.book.session(helper["id"], started_by=session.id).turns.append(child)

    def archive(self):
        session, _ = self.start(1)
        self.call("PATCH", f"/session/{session.id}", {"time": {"archived": int(time.time() * 1000)}})
        session.archived = True

    def delete(self):
        session, _ = self.start(1)
        self.call("DELETE", f"/session/{session.id}")
        session.deleted = True

    def log(self, id):
        return self.stage.home / ".local/share/opencode/opencode.db"

    def change(self, *statement):
        with contextlib.closing(sqlite3.connect(self.log(""))) as database, database:
            database.execute(*statement)

    def plant_record(self, id):
        part = json.dumps({"type": "unheard_of"})
        self.change("INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)"
                    " SELECT 'prt_unheard', message_id, session_id, time_created, time_updated, ? FROM part"
                    " WHERE session_id = ? ORDER BY id DESC LIMIT 1", (part, id))

    def rename_field(self, id):
        self.change("UPDATE part SET data = replace(data, '\"text\":', '\"text_v2\":') WHERE session_id = ?", (id,))

    scenarios = {
        "new": new, "resume": resume, "fork": fork, "branch": branch, "rewind": rewind, "compaction": compaction,
        "rename": rename, "sub-agent": sub_agent, "archive": archive,
        "unarchive": "its interface sets the time of archiving and cannot clear it",
        "background copy": "it has none", "moved folder": "a session stays in its folder", "delete": delete}
