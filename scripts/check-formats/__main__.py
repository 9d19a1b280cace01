"""Drives real agents, and compares what the product shows of their sessions with what was done.

    python3 scripts/check-formats --programs DIR --peers DIR --product FILE --folder DIR [--only NAME]…

DIR of the programs holds node_modules with the agents and Node, DIR of the peers the scripted model server. The homes of
the agents stay in the folder. Fails when anything differs, when an agent could not be driven, or when a change planted in
a log is not noticed.
"""

import argparse
import shutil
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from agent import SCENARIOS
from book import Book
from claude import Claude
from codex import Codex
from compare import Product, compare
from copilot import Copilot
from gemini import Gemini
from opencode import Opencode
from qwen import Qwen
from records import learn
from stage import Stage

AGENTS = [Codex, Claude, Gemini, Qwen, Copilot, Opencode]

# Agents that are driven at a time: each waits more than it computes.
AT_ONCE = 4


class Check:
    """The check of one agent."""

    def __init__(self, kind, options):
        self.kind, self.options = kind, options
        self.lines, self.wrong = [], []

    def run(self):
        self.lines, self.wrong = [], []
        folder = self.options.folder / self.kind.provider
        shutil.rmtree(folder, ignore_errors=True)
        stage = Stage(folder, self.options.programs, self.options.peers)
        try:
            self.lines.append(f"{self.kind.name} {stage.version(self.kind.package)}")
            book = Book(self.kind.provider)
            agent = self.kind(stage, book)
            for name in SCENARIOS:
                self.drive(agent, name)
            agent.finish()
            stage.rest()
            product = Product(self.options.product, stage, self.kind.provider)
            if self.options.learn:
                learn(self.kind.provider, product.stats())
            found = compare(book, product)
            self.wrong += found
            self.plant(agent, product, found)
        except Exception as error:
            self.lines += [f"  {line}" for line in traceback.format_exc().splitlines()]
            self.wrong.append(f"{self.kind.name} could not be driven: {error}")
        finally:
            stage.close()
        return self

    def drive(self, agent, name):
        how = self.kind.scenarios.get(name, "")
        if isinstance(how, str):
            self.lines.append(f"  {name:16} NOT DRIVEN: {how}")
            if not how:
                self.wrong.append(f"{name}: neither driven nor with a reason why not")
            return
        start = time.monotonic()
        agent.book.scenario = name
        try:
            how(agent)
            self.lines.append(f"  {name:16} driven in {time.monotonic() - start:.1f} s")
        except Exception as error:
            self.lines.append(f"  {name:16} FAILED after {time.monotonic() - start:.1f} s")
            self.wrong.append(f"{name} could not be driven: {error}")

    def plant(self, agent, product, known):
        """Plants changes of the format, each of which has to be noticed."""
        id = agent.first.id
        changes = {"an unknown record": agent.plant_record, "a renamed field": agent.rename_field, "a missing file": agent.remove_log}
        for name, change in changes.items():
            with restored(agent.log(id)):
                change(id)
                found = compare(agent.book, product, search=False)
                noticed = [sentence for sentence in found if sentence not in known]
            if noticed:
                self.lines.append(f"  {name + ' planted':24} noticed: {noticed[0]}")
            else:
                self.wrong.append(f"{name} was planted in {id} and not noticed")


@contextmanager
def restored(log):
    """Puts a file back as it was, and what SQLite keeps beside it."""
    files = [log, log.with_name(f"{log.name}-wal"), log.with_name(f"{log.name}-shm")]
    before = {file: file.read_bytes() for file in files if file.exists()}
    try:
        yield
    finally:
        for file in files:
            file.unlink(missing_ok=True)
        for file, content in before.items():
            file.write_bytes(content)


def report(check):
    wrong = [f"  WRONG  {sentence}" for sentence in check.wrong]
    print("\n".join([*check.lines, *wrong, ""]), flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "peers", "product", "folder"):
        arguments.add_argument(f"--{name}", type=lambda text: Path(text).absolute(), required=True)
    arguments.add_argument("--only", action="append", choices=[agent.provider for agent in AGENTS])
    arguments.add_argument("--learn", action="store_true", help="add new records and fields to those that the readers know")
    options = arguments.parse_args()
    driven_alone = []
    checks = [Check(agent, options) for agent in AGENTS if not options.only or agent.provider in options.only]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for ended in as_completed([pool.submit(check.run) for check in checks]):
            check = ended.result()
            if any("could not be driven" in sentence for sentence in check.wrong):
                # When run in parallel, an agent may be too slow for its terminal.
                driven_alone.append(check)
                continue
            report(check)
    for check in driven_alone:
        report(check.run())
    failed = [check.kind.name for check in checks if check.wrong]
    print(f"Differences found in: {', '.join(failed)}." if failed else "Every session is shown as it was made.")
    sys.exit(1 if failed else 0)


main()
