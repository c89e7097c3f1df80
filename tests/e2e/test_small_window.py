"""A provider that says nothing of its window and refuses what is longer, and a task that nearly fills it: as it sees that."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_long_task import SUMMARISES, serving
from tests.stubs.sse_server import Reply

pytestmark = pytest.mark.e2e

STEPS = 30
WORDS = 1_300
TASK = "Read all the notes. " + " ".join(f"word{at}x" for at in range(WORDS))
LEFT = 1_500
"""Tokens of the window beside what the first request takes."""


@dataclass
class Refusing:
    """Reads one note after another; its window is so much longer than the first request."""

    holds: int = 0
    steps: int = 0
    took: list[int] = field(default_factory=list)
    """Of each request of the main conversation the words of the task."""
    summaries: int = 0
    refused: int = 0

    def reply(self, body: dict[str, Any]) -> Reply:
        """The answer to a request."""
        said = json.dumps(body["messages"])
        size = (len(said) + len(json.dumps(body.get("tools")))) // 4
        self.holds = self.holds or size + LEFT
        if size > self.holds:
            self.refused += 1
            error = {"code": "context_length_exceeded", "message": "The request is too long."}
            return Reply(status=400, body={"error": error})
        if str(body["messages"][0]["content"]).startswith(SUMMARISES):
            self.summaries += 1
            return Reply("- Notes are being read.", usage=(size, 20, 0))
        self.took.append(len(set(re.findall(r"word\d+x", said))))
        self.steps += 1
        if self.steps > STEPS:
            return Reply("All read.", usage=(size, 5, 0))
        read = ("read_file", json.dumps({"path": f"note{self.steps % 30}.txt"}))
        return Reply(f"Step {self.steps}.", calls=((f"call_{self.steps}", *read),), usage=(size, 20, 0))


def prepare(program: Program, url: str) -> None:
    for at in range(30):
        lines = (f"line {at} {line} of this note about things" for line in range(60))
        (program.workspace / f"note{at}.txt").write_text("\n".join(lines))
    folder = program.home / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f'[models.small]\nprovider = "openai-chat"\nmodel = "m"\nbase_url = "{url}"\nstream = false\n'
    )


def test_the_task_stays_whole_with_a_handful_of_summaries_and_a_later_run_is_refused_nothing(
    program: Program,
) -> None:
    provider = Refusing()
    with serving(provider) as url:
        prepare(program, url)
        done = program.run("run", TASK, "--model", "small", "--policy", "bypass", "--json")
        assert done.returncode == 0, done.stderr
        assert set(provider.took) == {WORDS} and len(provider.took) == STEPS + 1
        # Two refusals at the first sizes, then one in seven requests at most: those within 2 % of the limit.
        assert 1 <= provider.summaries <= 5 and 1 <= provider.refused <= 2 + STEPS // 7
        told = done.stderr.splitlines()
        assert len(told) == len(set(told)) <= 3 and any("context_window" in line for line in told), told
        before = provider.refused
        again = program.run_in_process(
            "run", "Go on.", "--continue", "--model", "small", "--policy", "bypass"
        )
        assert again.returncode == 0 and provider.refused == before, again.stderr
