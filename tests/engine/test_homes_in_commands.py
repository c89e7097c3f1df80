"""A home that a command names is the home on this machine, not a folder of that name. File tools refuse it."""

import json
from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import text, tools_of
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.policy import PermissionDecided
from tui_agent.protocol.events.tool import ToolFinished


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("cat ~/notes.txt", "ask.reads-outside"),
        ("cat ~/../notes.txt", "ask.reads-outside"),
        ("cd ~/.. && cat notes.txt", "ask.reads-outside"),
        ("cat ~/key", "guard.secret"),
        ("cat ~+/../notes.txt", "ask.unproven"),
    ],
)
async def test_a_file_of_the_home_is_not_read_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, rule: str
) -> None:
    home = tmp_path / "homes" / "ada"
    home.mkdir(parents=True)
    (home / "notes.txt").write_text("private", encoding="utf-8")
    (home / "key").symlink_to(home / ".ssh" / "id_rsa")
    monkeypatch.setenv("HOME", str(home))
    answers = [call(("run_command", json.dumps({"command": command}))), say("Done.")]
    tools = list(tools_of("shell").values())
    async with running(tmp_path, answers, tools, policy=RulePolicy().decide, interactive=False) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (decided,) = bench.of(PermissionDecided)
        assert (decided.decision, decided.rule_id) == ("deny", rule)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "~/notes.txt"}),
        ("write_file", {"path": "~/notes.txt", "content": "x"}),
        ("list_directory", {"path": "~"}),
    ],
)
async def test_a_file_tool_says_that_it_does_not_expand_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, str]
) -> None:
    monkeypatch.setenv("HOME", "/homes/ada")
    answers = [call((tool, json.dumps(arguments))), say("Done.")]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, policy=RulePolicy().decide, policy_name="bypass") as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        path = arguments["path"]
        assert end.status == "failed"
        said = text(ToolResult(ok=False, content=end.content))
        assert said == f"File tools do not expand `~` in {path}. Use /homes/ada{path[1:]}."
    assert not (tmp_path / "workspace" / "~").exists()
