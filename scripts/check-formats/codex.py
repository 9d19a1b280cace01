"""Codex: `codex exec`, the commands for archives, and the rest through `codex app-server` (JSON-RPC over stdio)."""

import json
import queue
import subprocess
import threading

from agent import Agent
from book import Turn

CONFIG = """
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false
[features]
plugins = false
unbounded_connection_retries = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
"""


def ends_turn(frame, thread):
    return frame.get("method") == "turn/completed" and frame["params"]["threadId"] == thread


def items(frames):
    return [frame["params"]["item"] for frame in frames if frame.get("method") == "item/completed"]


class AppServer:
    def __init__(self, stage):
        errors = (stage.folder / "app-server.txt").open("a")
        self.process = subprocess.Popen(
            [stage.bin / "codex", "app-server"], cwd=stage.workspace, env=stage.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self.number, self.frames = 0, queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.call("initialize", clientInfo={"name": "check", "version": "1"}, capabilities={"experimentalApi": True})
        self.send(method="initialized")

    def read(self):
        for line in self.process.stdout:
            self.frames.put(json.loads(line))
        self.frames.put(None)

    def send(self, **frame):
        self.process.stdin.write(json.dumps(frame) + "\n")
        self.process.stdin.flush()

    def until(self, wanted, seconds=60):
        """Returns the frames up to the first that is wanted."""
        seen = []
        while True:
            frame = self.frames.get(timeout=seconds)
            if frame is None:
                raise RuntimeError("codex app-server has ended")
            seen.append(frame)
            if wanted(frame):
                return seen

    def call(self, method, **params):
        self.number += 1
        number = self.number
        self.send(id=number, method=method, params=params)
        answer = self.until(lambda frame: frame.get("id") == number and "method" not in frame)[-1]
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def turn(self, method, thread, **params):
        """Starts something that runs as a turn, and returns the frames until it ends."""
        self.call(method, threadId=thread, **params)
        return self.until(lambda frame: ends_turn(frame, thread))

    def prompt(self, thread, text):
        """Returns the id of the turn."""
        return self.turn("turn/start", thread, input=[{"type": "text", "text": text}])[-1]["params"]["turn"]["id"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)


class Codex(Agent):
    name, provider, package = "Codex", "codex", "@openai/codex"
    text_field = "content"
    work = [{"intent": "patch", "path": "made.txt", "content": "Made."}, {"intent": "run", "command": "echo made"}]

    def prepare(self):
        self.folder = self.stage.home / ".codex"
        self.folder.mkdir()
        (self.folder / "config.toml").write_text(CONFIG.format(port=self.model.port))
        self.codex = self.stage.bin / "codex"
        self.server = AppServer(self.stage)

    def finish(self):
        seen = {}
        for archived in (False, True):
            for thread in self.server.call("thread/list", limit=100, archived=archived)["data"]:
                # It lists a thread once for each of its files; the first prompt is that of its oldest one.
                seen.setdefault(thread["id"], (thread, archived))
        for session in self.book.sessions.values():
            thread, archived = seen.get(session.id, (None, False))
            session.listed = thread is not None and not archived
            if thread and thread["name"]:
                session.title = thread["name"]
        self.server.close()

    def exec(self, *words):
        """Runs `codex exec` and returns the id of the thread."""
        events = self.stage.events(self.codex, "exec", "--json", *words)
        return next(event["thread_id"] for event in events if "thread_id" in event)

    def start(self, turns):
        """Starts a thread with some turns; also returns their ids."""
        id = self.server.call("thread/start", cwd=str(self.stage.workspace))["thread"]["id"]
        session, ids = self.book.session(id), []
        for _ in range(turns):
            self.ask(session, lambda turn: ids.append(self.server.prompt(id, turn.text)))
        return session, ids

    def forked(self, parent, turns=None, **params):
        id = self.server.call("thread/fork", threadId=parent.id, **params)["thread"]["id"]
        session = self.book.session(id).begin_with(parent, turns)
        self.ask(session, lambda turn: self.server.prompt(id, turn.text))

    def new(self):
        self.first = self.ask(None, lambda turn: self.exec(turn.text))
        # Other models write files by commands.
        self.ask_to_work(self.first, lambda turn: self.exec("resume", self.first.id, "-m", "gpt-5.5", turn.text))

    def resume(self):
        self.ask(self.first, lambda turn: self.exec("resume", self.first.id, turn.text))
        session, _ = self.start(1)
        self.server.call("thread/resume", threadId=session.id)
        self.ask(session, lambda turn: self.server.prompt(session.id, turn.text))

    def fork(self):
        self.ask(None, lambda turn: self.exec("fork", self.first.id, turn.text)).begin_with(self.first)

    def branch(self):
        parent, ids = self.start(3)
        self.forked(parent, 1, lastTurnId=ids[0])
        self.forked(parent)

    def rewind(self):
        session, ids = self.start(3)
        self.server.call("thread/revert", threadId=session.id, beforeTurnId=ids[2])
        session.take_back()
        self.ask(session, lambda turn: self.server.prompt(session.id, turn.text))
        self.reverted = session
        # A fork of a reverted thread, reverted into what it began with.
        id = self.server.call("thread/fork", threadId=session.id)["thread"]["id"]
        self.server.call("thread/revert", threadId=id, beforeTurnId=ids[1])
        fork = self.book.session(id).begin_with(session, 1)
        self.ask(fork, lambda turn: self.server.prompt(id, turn.text))

    def compaction(self):
        session, _ = self.start(2)
        summary = self.summary(session)
        self.model.say(summary, title=summary)
        self.server.turn("thread/compact/start", session.id)
        self.ask(session, lambda turn: self.server.prompt(session.id, turn.text))

    def rename(self):
        session, _ = self.start(1)
        session.title = "Renamed by hand"
        self.server.call("thread/name/set", threadId=session.id, name=session.title)
        # The thread of two files too.
        self.server.call("thread/name/set", threadId=self.reverted.id, name="Renamed after a revert")
        self.reverted.title = "Renamed after a revert"

    def sub_agent(self):
        session, _ = self.start(0)
        parent, child = self.ask_for_helper(
            "message", {"match": ["spawn_agent"], "arguments": {"task_name": "looker", "fork_turns": "none"}},
            [{"when_tool_result": True, "when_last_contains": "agent_id", "tool_calls": [
                {"match": ["wait_agent"], "arguments": {"targets": ["{last:[0-9a-f]+-[0-9a-f-]+}"], "timeout_ms": 20000}}]}])
        frames = self.server.turn("turn/start", session.id, input=[{"type": "text", "text": parent.text}])
        session.turns.append(parent)
        started = next(item for item in items(frames) if item.get("tool") == "spawnAgent")
        helper = self.book.session(started["receiverThreadIds"][0], started_by=session.id)
        helper.turns.append(child)
        self.sub_agent_of_newer_models()

    def sub_agent_of_newer_models(self):
        """Their sub-agents are started in another way, and their orders are encrypted."""
        thread = self.server.call("thread/start", cwd=str(self.stage.workspace), model="gpt-6.1-sol")["thread"]
        session = self.book.session(thread["id"])
        parent, child = self.book.turn(), Turn("", self.book.word())
        order = {"task_name": "looker", "message": "Look around", "fork_turns": "none"}
        self.model.script(
            [{"when_last_contains": parent.prompt, "text": "Asking.", "tool_calls": [{"match": ["spawn_agent"], "arguments": order}]},
             {"when_tool_result": True, "text": parent.reply}],
            {"text": child.reply})
        frames = self.server.turn("turn/start", session.id, input=[{"type": "text", "text": parent.text}])
        session.turns.append(parent)
        started = next(item for item in items(frames) if item["type"] == "subAgentActivity")
        helper = self.book.session(started["agentThreadId"], started_by=session.id)
        helper.turns.append(child)
        if not any(ends_turn(frame, helper.id) for frame in frames):
            self.server.until(lambda frame: ends_turn(frame, helper.id))

    def archive(self):
        # With all of its files.
        session, ids = self.start(2)
        self.server.call("thread/revert", threadId=session.id, beforeTurnId=ids[1])
        session.take_back()
        self.ask(session, lambda turn: self.server.prompt(session.id, turn.text))
        self.server.call("thread/archive", threadId=session.id)
        session.archived = True

    def unarchive(self):
        session = self.ask(None, lambda turn: self.exec(turn.text))
        self.stage.run(self.codex, "archive", session.id)
        self.stage.run(self.codex, "unarchive", session.id)

    def background_copy(self):
        parent, _ = self.start(1)
        self.forked(parent, attachToSource=True)

    def moved_folder(self):
        folder = self.stage.workspace / "moved"
        folder.mkdir()
        parent, _ = self.start(1)
        self.forked(parent, cwd=str(folder))

    def delete(self):
        session, _ = self.start(1)
        self.server.call("thread/delete", threadId=session.id)
        session.deleted = True

    def log(self, id):
        return next(self.folder.glob(f"sessions/*/*/*/rollout-*-{id}.jsonl"))

    scenarios = {
        "new": new, "resume": resume, "fork": fork, "branch": branch, "rewind": rewind, "compaction": compaction,
        "rename": rename, "sub-agent": sub_agent, "archive": archive, "unarchive": unarchive,
        "background copy": background_copy, "moved folder": moved_folder, "delete": delete}
