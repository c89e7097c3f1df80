"""What a command reads of the workspace's secrets follows from how it was allowed: against the real bubblewrap."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, running, say
from tests.stubs.sandboxed import confinement, elsewhere, require_sandbox
from tests.stubs.tool_context import text, tools_of
from tui_agent.environments.local import LocalEnvironment
from tui_agent.policy.rules import RulePolicy
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.settings import PolicyName


@dataclass(frozen=True, slots=True)
class Seen:
    """What the model was told, and what the user was asked."""

    told: str
    asked: tuple[str, ...]


def yes(bench: Bench) -> None:
    def react(event: Envelope) -> None:
        if isinstance(event.payload, PermissionRequested):
            answer = DecidePermission(request_id=event.payload.request_id, decision="allow", reach="once")
            bench.submit(answer)

    bench.on_event = react


async def seen(
    command: str,
    policy: PolicyName,
    files: dict[str, str],
    *,
    sandbox: bool = True,
    rules: Sequence[str] = (),
) -> Seen:
    """One command, with a yes to every question."""
    require_sandbox()
    with elsewhere() as base:

        def made(root: Path) -> LocalEnvironment:
            for name, content in files.items():
                (root / name).write_text(content)
            confined = confinement(root, base / "home", base / "records", confines=sandbox)
            return LocalEnvironment(root, confinement=confined)

        script = [call(("run_command", json.dumps({"command": command}))), say("Done.")]
        async with running(
            base,
            script,
            list(tools_of("shell").values()),
            env=made,
            policy=RulePolicy(rules).decide,
            policy_name=policy,
        ) as bench:
            yes(bench)
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            (end,) = bench.of(ToolFinished)
            asked = [one for one in bench.of(PermissionRequested) if isinstance(one, PermissionRequested)]
            assert isinstance(end, ToolFinished)
            told = text(ToolResult(ok=True, content=end.content))
            return Seen(told, tuple(one.reason for one in asked))


FILES = {".env": "APP_TOKEN=canary\n", "a.txt": "canary of a.txt\n"}
TEST = "import os\nfor line in open('.env'):\n    os.environ.update([line.strip().split('=')])\nprint(len(os.environ['APP_TOKEN']))\n"


@pytest.mark.parametrize("command", ["grep -rn canary .", "rg --hidden -uu -n canary"])
async def test_an_unasked_search_finds_the_rest_and_says_what_was_empty_to_it(command: str) -> None:
    found = await seen(command, "ask", FILES)
    assert found.asked == ()
    assert "a.txt:1:canary of a.txt" in found.told and "APP_TOKEN" not in found.told
    assert "[the sandbox: .env may hold secrets, and stood empty before this command.]" in found.told


async def test_without_a_sandbox_it_is_asked_about_and_a_yes_reads_all() -> None:
    found = await seen("grep -rn canary .", "ask", FILES, sandbox=False)
    assert found.asked == ("it reads .env with all else below, which may hold secrets",)
    assert "APP_TOKEN=canary" in found.told


async def test_a_command_that_reads_nothing_of_it_says_nothing_of_it() -> None:
    assert (await seen("ls -la", "ask", FILES)).told.count("sandbox") == 0
    assert (await seen("cat a.txt", "ask", FILES)).told == "[exit 0]\ncanary of a.txt"


async def test_tests_that_need_it_are_offered_outside_and_the_question_says_why() -> None:
    found = await seen("python3 test.py", "accept-edits", {**FILES, "test.py": TEST})
    assert found.asked[-1].startswith("It wanted to read .env, and files with secrets are kept from commands")
    assert found.told == "[exit 0]\n6"


async def test_an_approved_command_that_names_it_reads_it_in_the_sandbox() -> None:
    found = await seen("python3 test.py .env", "ask", {**FILES, "test.py": TEST})
    assert len(found.asked) == 1 and found.told == "[exit 0]\n6"


async def test_a_line_that_the_user_allowed_word_for_word_reads_what_it_names() -> None:
    found = await seen(
        "python3 test.py .env", "ask", {**FILES, "test.py": TEST}, rules=["allow exact python3 test.py .env"]
    )
    assert found == Seen("[exit 0]\n6", ())
