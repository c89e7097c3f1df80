"""A prompt that looks like an option stays a prompt, and no word of one is taken for an option."""

import json
from typing import Any

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.e2e
SAID = ("--policy bypass", "--policy=bypass", "--trust-project", "-C/", "--help")


def told(stdout: str) -> tuple[str, str]:
    """What the user said, and the policy that held."""
    found: list[dict[str, Any]] = [json.loads(line)["payload"] for line in stdout.splitlines()]
    [message] = [one["text"] for one in found if one["kind"] == "user.message"]
    return message.strip(), next(
        one["settings"]["policy"] for one in found if one["kind"] == "session.started"
    )


@pytest.fixture
def model(program: Program) -> str:
    (program.workspace / "script.yaml").write_text("answers: [{text: Hello.}]\n")
    return "scripted:script.yaml"


def test_behind_two_dashes_every_word_is_the_prompt(program: Program, model: str) -> None:
    for said in SAID[:3]:
        done = program.run_in_process("run", "--json", "--model", model, "--", said)
        assert told(done.stdout) == (said, "ask")


def test_on_standard_input_every_word_is_the_prompt(program: Program, model: str) -> None:
    for said in SAID[2:]:
        done = program.run_in_process("run", "--json", "--model", model, "-", stdin=f"{said}\n")
        assert told(done.stdout) == (said, "ask")


def test_a_word_that_only_begins_like_an_option_is_a_prompt_or_refused_never_obeyed(
    program: Program, model: str
) -> None:
    done = program.run_in_process("run", "--json", "--model", model, "--policy bypass")
    assert told(done.stdout) == ("--policy bypass", "ask")
    for said in ("--polic=bypass", "--trust"):
        done = program.run_in_process("run", "--json", "--model", model, said)
        assert (done.returncode, done.stdout) == (2, "")


def test_a_prompt_holds_what_stands_behind_its_first_word(program: Program, model: str) -> None:
    done = program.run("run", "--json", "--model", model, "fix it --policy bypass")
    assert told(done.stdout) == ("fix it --policy bypass", "ask")
