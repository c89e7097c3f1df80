"""A command that prints without end: the screen stays usable, and the log small."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Program
from tests.e2e.terminal import Terminal

FLOODS = {
    "lines": "yes 0123456789",
    "bytes": "cat /dev/urandom",
    "longline": "head -c 100000000 /dev/zero | tr '\\0' x; echo; sleep 1000",
    "job": "yes 0123456789",
}
LETTERS = "the quick brown fox"
MOST_LOG = 3_000_000


@pytest.fixture(scope="module")
def flooding_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a stand-in model that asks for floods."""
    path = tmp_path_factory.mktemp("floods") / "floods.json"
    script: dict[str, object] = {"default": [{"text": "Hello."}]}
    for name, command in FLOODS.items():
        arguments = {"command": command, "timeout": 600, "background": name == "job"}
        script[name] = [{"tools": [["run_command", arguments]]}, {"text": "Started."}]
    path.write_text(json.dumps(script))
    words = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0", "--script", str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as mock:
        assert mock.stdout is not None
        try:
            yield mock.stdout.readline().split()[-1]
        finally:
            mock.terminate()


def log_size(program: Program) -> int:
    return sum(path.stat().st_size for path in (Path(program.data) / "sessions").rglob("events.jsonl"))


@pytest.mark.e2e
@pytest.mark.parametrize("flood", FLOODS)
def test_keys_are_answered_while_a_command_floods(program: Program, flooding_url: str, flood: str) -> None:
    words = ("--model", "mock", "--base-url", flooding_url, "--policy", "bypass")
    with Terminal(
        program.line(*words), size=(100, 30), cwd=program.workspace, environment=program.environment
    ) as terminal:
        terminal.until_text("Ask for a change")
        terminal.send(f"go scenario-{flood}\r")
        terminal.until(lambda screen: "1 job" in screen if flood == "job" else "Esc" in screen, "the flood")
        shown = ("0123456789", "xxxx", "earlier lines")
        terminal.until(lambda screen: flood == "bytes" or any(one in screen for one in shown), "output")
        typed = ""
        for letter in LETTERS:
            typed += letter
            terminal.send(letter)
            if letter != " ":  # each letter is answered by a frame, while the command prints
                terminal.until_text(typed)
        if flood != "job":
            terminal.send("\x15\x1b")
            terminal.until(
                lambda screen: "stopped" in screen or "interrupted" in screen, "the end of the turn"
            )
    assert log_size(program) < MOST_LOG
