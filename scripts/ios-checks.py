"""Runs every scenario of the iOS emulator, as every version of the app, against one server: with access open to this
machine (`--ios allow`), then over the network with a desktop that allows every phone that asks (`--ios ask`).

A warning of the emulator is a failure unless ALLOWED gives a reason to accept it.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

VERSIONS = ("v1", "v2", "v3")

# (mode of access, name of the emulator's check) -> the reason to accept its warning.
ALLOWED: dict[tuple[str, str], str] = {
    ("ask", "working_directory"): "until a phone is allowed, it is shown no folder",
}

PROMPT = "What was I doing here?"


# Name of a scenario -> its arguments, for a workspace.
SCENARIOS: dict[str, Callable[[Path], list[str]]] = {
    "handshake": lambda _: [],
    "explore": lambda root: ["--root", str(root)],
    "prompt": lambda _: ["--text", PROMPT],
    "cancel": lambda root: ["--root", str(root)],
    "history": lambda _: [],
    "reconnect": lambda root: ["--root", str(root)],
    "flood": lambda _: ["--cycles", "40", "--parallel", "4"],
}


def make_workspace(home: Path) -> Path:
    """A small project and the log of one Codex session that worked in it."""
    root = home / "tide-tables"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# Tide tables\n\nPredicts the tide at a harbour from its constituents.\n")
    (root / "Cargo.toml").write_text('[package]\nname = "tide-tables"\nversion = "0.1.0"\nedition = "2024"\n')
    for number in range(40):
        (root / "src" / f"harbour_{number}.rs").write_text(f"// Harbour {number}\npub fn tide() -> u32 {{ {number} }}\n")
    day = home / "codex" / "sessions" / "2026" / "11" / "02"
    day.mkdir(parents=True)
    session = "019a4b2c-0000-7000-8000-000000000001"

    def line(second: int, kind: str, payload: dict) -> str:
        return json.dumps({"timestamp": f"2026-11-02T09:00:{second:02}.000Z", "type": kind, "payload": payload})

    (day / f"rollout-2026-11-02T09-00-00-{session}.jsonl").write_text(
        "\n".join(
            (
                line(0, "session_meta", {
                    "id": session, "timestamp": "2026-11-02T09:00:00.000Z", "cwd": str(root),
                    "originator": "codex_cli_rs", "cli_version": "0.57.0", "source": "cli",
                }),
                line(1, "event_msg", {
                    "type": "user_message", "message": "Make the tide tables follow daylight saving time", "kind": "plain",
                }),
                line(2, "response_item", {
                    "type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": "Make the tide tables follow daylight saving time"}],
                }),
                line(3, "response_item", {
                    "type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": "The offsets now come from the time zone."}],
                }),
            )
        )
        + "\n"
    )
    return root


def network_address() -> str:
    """The address at which this machine is found on its network; a loopback one that is not 127.0.0.1 where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: asks the system which of its addresses would be used.
            probe.connect(("192.0.2.1", 9))
            address = probe.getsockname()[0]
        except OSError:
            address = "127.0.0.1"
    return "127.0.0.2" if address == "127.0.0.1" else address


class Server:
    """`openagents serve`, with a desktop that answers its access requests."""

    def __init__(self, program: str, home: Path, root: Path, ios: str) -> None:
        self.program = program
        self.ios = ios
        self.requests = 0
        self.environment = os.environ | {
            "OPENAGENTS_HOME": str(home / "openagents"),
            "CODEX_HOME": str(home / "codex"),
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
        }
        command = [program, "serve", "--port", "0", "--ios", ios, "--json", "--root", str(root)]
        if ios == "ask":
            command += ["--lan-address", network_address()]
        self.process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.desktop = threading.Thread(target=self.allow_all, daemon=True)
        self.desktop.start()
        first = self.process.stdout.readline()
        if not first:
            sys.exit("the server exited before it listened")
        self.address = f"127.0.0.1:{json.loads(first)['port']}"
        if ios == "ask":
            listeners = self.devices("network")["network"]["listeners"]
            self.address = next(listener["address"] for listener in listeners if listener["kind"] == "app")

    def devices(self, *arguments: str) -> dict:
        command = [self.program, "devices", *arguments, "--json"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def allow_all(self) -> None:
        """Runs the command that the server prints for each access request."""
        for line in self.process.stderr:
            request = re.search(r"`openagents devices allow (\S+)`", line)
            if request:
                self.requests += 1
                self.devices("allow", request[1])
            else:
                print(line, end="", file=sys.stderr)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)


def judge(emulator: str, server: Server, version: str, scenario: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Returns what failed, and which warnings are allowed to stand."""
    host, port = server.address.rsplit(":", 1)
    command = [sys.executable, emulator, scenario, *arguments, "--host", host, "--port", port, "--version", version]
    done = subprocess.run([*command, "--json", "--warnings-fail"], capture_output=True, text=True, timeout=300)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return [f"no report: {(done.stderr or done.stdout).strip()[-500:]}"], []
    failed, standing = [], []
    for name, check in report["checks"].items():
        if check["result"] == "fail":
            failed.append(f"{name}: {check['detail']}")
        elif check["result"] == "warn":
            reason = ALLOWED.get((server.ios, name))
            (standing if reason else failed).append(f"{name}: {reason or check['detail']}")
    if not report["ok"] and not failed and not standing:
        failed.append(f"not conformant (exit code {done.returncode})")
    return failed, standing


def check(emulator: str, server: Server, version: str, scenario: str, arguments: list[str]) -> bool:
    """Runs a scenario, tells what came of it, and returns whether it passed."""
    began = time.monotonic()
    failed, standing = judge(emulator, server, version, scenario, arguments)
    # A handshake alone asks for nothing.
    if server.ios == "ask" and server.requests == 0 and scenario != "handshake":
        failed.append("nobody was asked to let it in")
    if server.process.poll() is not None:
        failed.append(f"the server ended by itself with {server.process.returncode}")
    word = "FAILED" if failed else "ok"
    print(f"{server.ios:5} {version} {scenario:10} {word:6} {time.monotonic() - began:5.1f} s", flush=True)
    for note in failed:
        print(f"   {note}")
    for note in standing:
        print(f"   allowed: {note}")
    return not failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    runs = [(version, scenario) for version in VERSIONS for scenario in SCENARIOS]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        root = make_workspace(home)

        def run(server: Server, version: str, scenario: str) -> bool:
            return check(arguments.emulator, server, version, scenario, SCENARIOS[scenario](root))

        with Server(arguments.program, home, root, "allow") as server:
            passed = [run(server, *scenario) for scenario in runs]
        # An allowed phone is remembered until the server exits, so each version has to ask again.
        for scenario in runs:
            with Server(arguments.program, home, root, "ask") as server:
                passed.append(run(server, *scenario))
    print(f"\n{passed.count(True)} passed, {passed.count(False)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
