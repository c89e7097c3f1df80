"""Many turns of one session in a process of its own, and what it held meanwhile."""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from tests.e2e.conftest import ROOT, Program
from tests.soak.turning import SCENARIOS

WINDOW = 32_000
CONFIG = """
[models.mock]
provider = "openai-chat"
model = "mock"
base_url = "{url}"
api_key_env = "OPENAI_API_KEY"
context_window = {window}
"""


@dataclass(frozen=True)
class Sample:
    """What the process held after so many turns."""

    turn: int
    at: float
    rss_mb: float
    descriptors: int
    threads: int
    tasks: int
    below: int


def script() -> dict[str, list[dict[str, Any]]]:
    """Turns of every kind: words, files written, commands that end and that leave something behind. A turn says some
    3,000 characters, all of which the model is sent again with each later request."""
    prose = {"shape": "prose", "tokens": 120}

    def turn(n: int) -> list[dict[str, Any]]:
        command = (
            f"echo {n}; seq 1 {200 * n}"
            if n % 3
            else "(sleep 60 & setsid sleep 60 &) > /dev/null 2>&1; echo left behind"
        )
        tools: list[list[object]] = [["run_command", {"command": command}]]
        if n % 5 == 0:
            tools = [["write_file", {"path": f"made/{n}-{{i}}.txt", "content": f"{n} words\n" * 50}]]
        return [{"text": prose, "tools": tools}, {"text": "Done."}]

    return {"default": [{"text": "Hello."}], **{f"turn{n}": turn(n) for n in range(SCENARIOS)}}


def play(program: Program, turns: int, every: int) -> list[Sample]:
    """Play the turns against a stand-in model."""
    scenarios = program.home / "turns.json"
    scenarios.write_text(json.dumps(script()))
    words = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0", "--script", str(scenarios)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT) as mock:
        assert mock.stdout is not None
        try:
            return _played(program, mock.stdout.readline().split()[-1], turns, every)
        finally:
            mock.terminate()


def _played(program: Program, url: str, turns: int, every: int) -> list[Sample]:
    folder = program.home / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG.format(url=url, window=WINDOW))
    command = (sys.executable, "-m", "tests.soak.turning")
    arguments = (str(program.home), str(program.workspace), url, str(turns), str(every))
    errors = program.home / "turning.err"
    with errors.open("wb") as said:
        done = subprocess.run(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=said,
            cwd=ROOT,
            env=program.environment,
            check=False,
        )
    assert done.returncode == 0, errors.read_text()[-2_000:]
    return [Sample(**json.loads(line)) for line in done.stdout.splitlines()]


def spread(samples: list[Sample], name: str) -> str:
    """The least and the most of a figure."""
    values = [getattr(sample, name) for sample in samples]
    return f"{name} {min(values)}–{max(values)}"
