"""docs/hooks.md: its examples do what they say, and it names every event."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pydantic_core import to_json

from tui_agent.config.settings.settings import HookSettings
from tui_agent.ports.hook import HOOK_EVENTS, HookAnswer
from tui_agent.workspace.local.hook_command import parse_answer

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "hooks.md").read_text(encoding="utf-8")


def example(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def given(command: str) -> bytes:
    return to_json(
        {"hook_event": "before_tool", "tool_name": "run_command", "tool_input": {"command": command}}
    )


def test_the_example_of_the_configuration_is_one() -> None:
    hooks = tomllib.loads(example("toml"))["hook"]
    assert [HookSettings.model_validate(one).event for one in hooks] == ["before_tool", "after_tool"]


@pytest.mark.parametrize(("command", "status"), [("cd x && git push origin main", 2), ("git status", 0)])
def test_the_first_example_refuses_a_push_and_nothing_else(command: str, status: int) -> None:
    done = subprocess.run(
        ["bash", "-c", example("bash")], input=given(command), capture_output=True, check=False
    )
    assert (done.returncode, b"for people" in done.stderr) == (status, status == 2)


def test_the_second_example_changes_the_arguments_and_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", example("python")], input=given("pytest"), capture_output=True, check=True
    )
    answer = parse_answer(done.stdout)
    assert isinstance(answer, HookAnswer)
    assert answer.updated_input == {"command": "pytest -q"} and answer.additional_context


def test_every_event_is_on_the_page() -> None:
    assert not [event for event in HOOK_EVENTS if f"`{event}`" not in PAGE]
