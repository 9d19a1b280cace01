"""What was done, written down by the one who did it: the sessions that should be found, and their words."""

import random
from dataclasses import dataclass, field


@dataclass
class Turn:
    """A prompt and its answer, each with a word that is nowhere else. No log has the prompt if its word is empty."""

    prompt: str
    answer: str
    undone: bool = False
    # It is no longer in the log, or no longer a record of it: it need not be shown as undone.
    removed: bool = False

    @property
    def text(self):
        return f"Consider {self.prompt}"

    @property
    def reply(self):
        return f"About {self.answer}"


@dataclass
class Session:
    id: str
    # The scenario that made it.
    scenario: str = ""
    turns: list = field(default_factory=list)
    # The turns of another session that this one began with.
    inherited: list = field(default_factory=list)
    continues: str | None = None
    title: str | None = None
    # The session that it is a sub-agent of, if it has a log of its own.
    started_by: str | None = None
    # Files that were written, and the number of calls of tools.
    files: list = field(default_factory=list)
    calls: int = 0
    # Orders to sub-agents whose doings are in the log of this session.
    orders: list = field(default_factory=list)
    # In the agent's own list; None where it has none to compare with.
    listed: bool | None = None
    archived: bool = False
    deleted: bool = False
    # Words of the summaries that replaced what was said.
    summaries: list = field(default_factory=list)

    def live(self):
        return [turn for turn in self.turns if not turn.undone]

    def begin_with(self, parent, turns=None):
        """This is a fork, a branch or a copy: it began with all that another session showed, or its first `turns`."""
        self.inherited = (parent.inherited + parent.live())[:turns]
        self.continues = parent.id
        return self

    def take_back(self, removed=False):
        self.turns[-1].undone = True
        self.turns[-1].removed = removed


class Book:
    """The sessions of one agent, by id."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.words = set()
        self.sessions = {}
        self.scenario = ""

    def word(self):
        """Returns a new word of eight letters."""
        while True:
            letters = (self.random.choice(kind) for _ in range(4) for kind in ("bdfgklmnprstvz", "aeiou"))
            word = "".join(letters)
            if word not in self.words:
                self.words.add(word)
                return word

    def turn(self):
        return Turn(self.word(), self.word())

    def session(self, id, **facts):
        self.sessions[id] = Session(id, self.scenario, **facts)
        return self.sessions[id]

    def elsewhere(self, owner, turn):
        """Returns the ids of other sessions where words of a turn may be found: those that began with it, and the one that
        gave the order."""
        heirs = {session.id for session in self.sessions.values() if turn in session.inherited and not session.deleted}
        return heirs | ({owner.started_by} if owner.started_by else set())
