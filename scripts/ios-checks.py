"""Runs every scenario of the iOS emulator, as every version of the app, against one server.

A warning of the emulator is a failure unless ALLOWED gives the reason why it stands.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERSIONS = ("v1", "v2", "v3")

# (scenario, name of the emulator's check) -> why its warning stands.
ALLOWED: dict[tuple[str, str], str] = {}

PROMPT = "What was I doing here?"


def scenarios(root: Path) -> dict[str, list[str]]:
    return {
        "handshake": [],
        "explore": ["--root", str(root)],
        "prompt": ["--text", PROMPT],
        "cancel": ["--root", str(root)],
        "history": [],
        "reconnect": ["--root", str(root)],
        "flood": ["--cycles", "40", "--parallel", "4"],
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


def start(program: str, home: Path, root: Path) -> tuple[subprocess.Popen, int]:
    environment = os.environ | {
        "OPENAGENTS_HOME": str(home / "openagents"),
        "CODEX_HOME": str(home / "codex"),
        "CLAUDE_CONFIG_DIR": str(home / "claude"),
    }
    command = [program, "serve", "--port", "0", "--ios", "allow", "--json", "--root", str(root)]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    first = server.stdout.readline()
    if not first:
        sys.exit("the server ended before it listened")
    return server, json.loads(first)["port"]


def judge(emulator: str, port: int, version: str, scenario: str, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Returns what failed, and which warnings are allowed to stand."""
    command = [sys.executable, emulator, scenario, *arguments, "--port", str(port), "--version", version]
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
            reason = ALLOWED.get((scenario, name))
            (standing if reason else failed).append(f"{name}: {reason or check['detail']}")
    if not report["ok"] and not failed and not standing:
        failed.append(f"not conformant (exit code {done.returncode})")
    return failed, standing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--program", required=True)
    arguments = parser.parse_args()
    passed = 0
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        root = make_workspace(home)
        server, port = start(arguments.program, home, root)
        try:
            for version in VERSIONS:
                for scenario, extra in scenarios(root).items():
                    began = time.monotonic()
                    failed, standing = judge(arguments.emulator, port, version, scenario, extra)
                    word = "FAILED" if failed else "ok"
                    print(f"{version} {scenario:10} {word:6} {time.monotonic() - began:5.1f} s", flush=True)
                    for note in failed:
                        print(f"   {note}")
                    for note in standing:
                        print(f"   allowed: {note}")
                    passed += not failed
                    broken += bool(failed)
            if server.poll() is not None:
                print(f"the server ended by itself with {server.returncode}")
                broken += 1
        finally:
            server.terminate()
            server.wait(timeout=30)
    print(f"\n{passed} passed, {broken} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
