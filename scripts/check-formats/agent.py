"""What the drivers of all agents share."""

import json
import time

SCENARIOS = [
    "new", "resume", "fork", "branch", "rewind", "compaction", "rename", "sub-agent", "archive", "unarchive",
    "background copy", "moved folder", "delete"]


class Agent:
    """Drives one agent. `scenarios` maps each of SCENARIOS to a method, or to the reason why it is not driven."""

    name = provider = package = text_field = ""
    # The calls of a model that writes MADE and runs a command.
    work = []
    scenarios = {}

    def __init__(self, stage, book):
        self.stage, self.book, self.model = stage, book, stage.model
        self.prepare()

    def prepare(self):
        """Writes the agent's settings."""

    def finish(self):
        """Takes titles and the list from the agent itself, after the last scenario."""

    def log(self, id):
        """Returns the log of a session."""

    def plant_record(self, id):
        """Adds a record of a kind that no reader knows to the log of a session."""
        log = self.log(id)
        last = json.loads(log.read_text().splitlines()[-1])
        with log.open("a") as file:
            file.write(json.dumps({**last, **self.unheard_of(last)}) + "\n")

    def unheard_of(self, last):
        """Returns what makes a record out of the last one that no reader knows."""
        return {"type": "unheard_of"}

    def rename_field(self, id):
        """Renames the field with the text in the log of a session, as a new version might."""
        log = self.log(id)
        log.write_text(log.read_text().replace(f'"{self.text_field}":', f'"{self.text_field}_v2":'))

    def remove_log(self, id):
        self.log(id).unlink()

    def ask(self, session, send):
        """Lets the model answer a new turn, whose prompt `send` passes on, and adds it to the session. Without a session
        `send` returns the id of a new one."""
        turn = self.book.turn()
        self.model.say(turn.reply)
        id = send(turn)
        session = session or self.book.session(id)
        session.turns.append(turn)
        return session

    def ask_to_work(self, session, send):
        """Asks for a turn in which the agent writes a file and runs a command."""
        turn, made = self.book.turn(), self.stage.workspace / "made.txt"
        calls = json.loads(json.dumps(self.work).replace("MADE", str(made)))
        self.model.script(
            [{"when_last_contains": turn.prompt, "text": "Working.", "tool_calls": calls}], {"text": turn.reply})
        id = send(turn)
        if not made.exists():
            raise RuntimeError("the agent has not written made.txt")
        made.unlink()
        session = session or self.book.session(id)
        session.turns.append(turn)
        session.files.append("made.txt")
        session.calls += len(calls)
        return session

    def ask_for_helper(self, order, call, more=(), end=()):
        """Prepares the model for a prompt that starts a sub-agent by `call`, with its order in the argument `order`.
        The sub-agent ends by the calls `end`. Returns the parent's turn and the sub-agent's."""
        parent, child = self.book.turn(), self.book.turn()
        call = {**call, "arguments": {**call["arguments"], order: child.text}}
        self.model.script(
            [{"when_last_contains": parent.prompt, "text": "Asking.", "tool_calls": [call]},
             {"when_last_contains": child.prompt, "text": child.reply, "tool_calls": list(end)}, *more],
            {"text": parent.reply})
        return parent, child

    def summary(self, session):
        """Lets the model answer with a summary of the session."""
        word = self.book.word()
        session.summaries.append(word)
        return f"Summary {word}"


class TerminalAgent(Agent):
    """An agent that is driven in a terminal. `ready` is what its screen shows when it waits for a prompt."""

    ready = leaving = ""

    def command(self):
        """Returns the command that opens a new session."""

    def ids(self):
        """Returns the ids of the sessions that have a log."""

    def open(self):
        self.known = set(self.ids())
        self.terminal = self.stage.terminal(*self.command())
        self.terminal.wait(self.ready)
        time.sleep(1.5)

    def start(self, turns):
        """Starts a session in a terminal with some turns."""
        self.open()
        session = None
        for _ in range(turns):
            session = self.more(session)
        return session

    def more(self, session):
        return self.ask(session, self.type)

    def type(self, turn):
        """Types a prompt, waits for its answer, and returns the id of the log that is new since `open`, if there is one."""
        self.terminal.enter(turn.text)
        self.terminal.wait(turn.reply)
        time.sleep(1)
        return next(iter(set(self.ids()) - self.known), None)

    def new_id(self, seconds=90):
        """Waits for another log that is new."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = set(self.ids()) - self.known
            if found:
                return found.pop()
            time.sleep(0.3)
        raise RuntimeError(f"no new log appears in {seconds} s:\n{self.terminal.screen().strip()}")

    def leave(self):
        self.terminal.enter(self.leaving)
        time.sleep(2)
        self.terminal.close()
